import { host } from './state.mjs';

export function now() {
  return { seconds: Math.floor(host.clock / 1000), nanoseconds: (host.clock % 1000) * 1e6 };
}
