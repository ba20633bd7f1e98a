import { host } from './state.mjs';

export function subscribeDuration(nanoseconds) {
  return {
    block() {
      host.clock += nanoseconds / 1e6;
    },
  };
}
