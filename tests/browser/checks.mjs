// The checks, in their order.

export { examples } from "./check_examples.mjs";
export { ends } from "./check_ends.mjs";
export { reach, remembered, withoutJspi } from "./check_reach.mjs";
export { assets, components } from "./check_refusals.mjs";
export { confined, scripts } from "./check_confined.mjs";
export { accessible, frames, insecure, offline, reload, storage } from "./check_page.mjs";
export { models } from "./check_models.mjs";
export { handover } from "./check_handover.mjs";
export { edits, forks, hooks } from "./check_history.mjs";
export { limits } from "./check_limits.mjs";
export { cached, damaged, differences, fullReplay, netReplay, replays, unsupported } from "./check_replay.mjs";
export { changed } from "./check_changed.mjs";
export { stops } from "./check_stops.mjs";
export { random } from "./check_random.mjs";
export { languages } from "./check_languages.mjs";
export { large } from "./check_large.mjs";
export { catalogues } from "./check_catalogue.mjs";
export { speed } from "./check_speed.mjs";
