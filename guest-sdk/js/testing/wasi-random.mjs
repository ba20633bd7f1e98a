import { beginnings, host } from './state.mjs';

/** The numbers of a xorshift generator, the same for the same seed. */
let state;
let seed;
let begun;

export function getRandomBytes(count) {
  if (seed !== host.seed || begun !== beginnings) {
    [seed, begun] = [host.seed, beginnings];
    state = (0x9e3779b9 ^ seed) | 0 || 1;
  }
  return Uint8Array.from({ length: count }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xff;
  });
}
