// `wasi:clocks`, virtual, and `wasi:random`, seeded: as in the native host, the clock stands still and the numbers follow from the run's seed.

import { Fault } from "../fault";
import type { Random } from "../walker";

/** Limit of bytes that one call returns. */
const MAX_BYTES = 1n << 20n;

export class Pollable {
  ready(): boolean {
    return true;
  }

  block(): void {
    // Pollables of a page are always ready.
  }
}

export function clocks(milliseconds: number): Record<string, object> {
  let monotonic = 0n;
  const until = (when: bigint): Pollable => {
    if (when > monotonic) monotonic = when;
    return new Pollable();
  };
  return {
    "wasi:clocks/wall-clock": {
      now: () => ({ seconds: BigInt(Math.floor(milliseconds / 1000)), nanoseconds: (milliseconds % 1000) * 1_000_000 }),
      resolution: () => ({ seconds: 0n, nanoseconds: 1_000_000 }),
    },
    "wasi:clocks/monotonic-clock": {
      now: () => monotonic,
      resolution: () => 1n,
      subscribeInstant: until,
      subscribeDuration: (when: bigint) => until(monotonic + when),
    },
    "wasi:io/poll": { Pollable, poll: (each: unknown[]) => Uint32Array.from(each.keys()) },
  };
}

export function random(begin: () => Random): Record<string, object> {
  let begun: Random | undefined;
  const numbers = (): Random => (begun ??= begin());
  const bytes = (wanted: bigint): Uint8Array => {
    if (wanted > MAX_BYTES) throw new Fault("limit", `it asked for ${wanted} random bytes at once; ${MAX_BYTES} are allowed`);
    return numbers().bytes(Number(wanted));
  };
  const number = (): bigint => numbers().number();
  return {
    "wasi:random/random": { getRandomBytes: bytes, getRandomU64: number },
    "wasi:random/insecure": { getInsecureRandomBytes: bytes, getInsecureRandomU64: number },
    "wasi:random/insecure-seed": { insecureSeed: () => [number(), number()] },
  };
}
