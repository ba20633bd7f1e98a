// The checks, in their order.

export { examples } from "./check_examples.mjs";
export { ends } from "./check_ends.mjs";
export { assets, components } from "./check_refusals.mjs";
export { accessible, frames, insecure, offline, reload, storage } from "./check_page.mjs";
export { handover } from "./check_handover.mjs";
export { damaged, differences, replays } from "./check_replay.mjs";
