// The one file of all workers: its first message says what it is.

import { Executor } from "./executor";
import { listen, type Wish } from "./host";
import type { Call, Setup } from "./protocol";
import { words } from "./walker";

type First = { role: "host"; wish: Wish } | { role: "executor"; setup: Setup };

async function execute(setup: Setup): Promise<void> {
  try {
    const executor = await Executor.of(setup);
    onmessage = async ({ data }: MessageEvent<Call>) => postMessage(await executor.call(data));
    postMessage({ ready: true });
  } catch (error) {
    postMessage({ error: words(error) });
  }
}

onmessage = ({ data }: MessageEvent<First>) => {
  if (data.role === "host") listen(data.wish);
  else void execute(data.setup);
};
