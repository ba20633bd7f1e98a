import { Disposable } from './disposable.mjs';
import { host } from './state.mjs';

export function subscribeDuration(nanoseconds) {
  return Object.assign(new Disposable(), {
    block() {
      host.clock += nanoseconds / 1e6;
    },
  });
}
