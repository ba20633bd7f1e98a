// The script of all workers; the first message names the role.

import { confine } from "./confined";
import { Executor } from "./executor";
import { listen, type PageRequest } from "./host";
import type { CallAnswer, CallQuestion, Call, Question, Setup, ModelSpent } from "./protocol";
import { words } from "./walker";

type First = { role: "host"; wish: PageRequest } | { role: "executor"; setup: Setup };

async function execute(setup: Setup): Promise<void> {
  const waiting = new Map<number, (answer: unknown) => void>();
  // Taken before `confine`: components find neither in their scope, so that only this function talks to the worker of the run.
  const dispatch = postMessage.bind(globalThis);
  let take = (_: Call | CallAnswer): void => undefined;
  onmessage = ({ data }: MessageEvent<Call | CallAnswer>) => take(data);
  let asked = 0;
  const ask = (question: Question): Promise<unknown> =>
    new Promise((resolve) => {
      asked += 1;
      waiting.set(asked, resolve);
      dispatch({ asked, question } satisfies CallQuestion);
    });
  try {
    confine();
    const executor = await Executor.of(setup, ask, (spent) => dispatch({ spent } satisfies ModelSpent));
    take = (data) => {
      if ("answered" in data) {
        waiting.get(data.answered)?.(data.told);
        waiting.delete(data.answered);
      } else void executor.call(data).then((done) => dispatch(done));
    };
    dispatch({ ready: true });
  } catch (error) {
    dispatch({ error: words(error) });
  }
}

onmessage = ({ data }: MessageEvent<First>) => {
  if (data.role === "host") listen(data.wish);
  else void execute(data.setup);
};
