// The one file of all workers: its first message says what it is.

import { Executor } from "./executor";
import { listen, type Wish } from "./host";
import type { Answered, Asked, Call, Question, Setup, Spent } from "./protocol";
import { words } from "./walker";

type First = { role: "host"; wish: Wish } | { role: "executor"; setup: Setup };

async function execute(setup: Setup): Promise<void> {
  const waiting = new Map<number, (told: unknown) => void>();
  let asked = 0;
  const ask = (question: Question): Promise<unknown> =>
    new Promise((resolve) => {
      asked += 1;
      waiting.set(asked, resolve);
      postMessage({ asked, question } satisfies Asked);
    });
  try {
    const executor = await Executor.of(setup, ask, (spent) => postMessage({ spent } satisfies Spent));
    onmessage = async ({ data }: MessageEvent<Call | Answered>) => {
      if ("answered" in data) {
        waiting.get(data.answered)?.(data.told);
        waiting.delete(data.answered);
      } else postMessage(await executor.call(data));
    };
    postMessage({ ready: true });
  } catch (error) {
    postMessage({ error: words(error) });
  }
}

onmessage = ({ data }: MessageEvent<First>) => {
  if (data.role === "host") listen(data.wish);
  else void execute(data.setup);
};
