/** Random numbers of the run, the same in a replay. Needs `wasi:random/random` in `wants`. With it, `Math.random()` gives them, too. */
import { getRandomBytes } from 'wasi:random/random@0.2.12';
import { randomFrom } from './globals.js';

/** So many random bytes. */
export function randomBytes(count: number): Uint8Array {
  return Uint8Array.from(getRandomBytes(count));
}

/** A random number, at least 0 and below 1. */
export function random(): number {
  const [high, low] = new Uint32Array(randomBytes(8).buffer) as unknown as [number, number];
  return ((high >>> 5) * 0x4000000 + (low >>> 6)) / 0x20000000000000;
}

randomFrom(random);
