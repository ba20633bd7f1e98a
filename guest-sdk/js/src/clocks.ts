/** The clock of the run. Needs `wasi:clocks/wall-clock` in `wants`; `sleep` needs `wasi:clocks/monotonic-clock`. */
import { subscribeDuration } from 'wasi:clocks/monotonic-clock@0.2.12';
import { now as wallClock } from 'wasi:clocks/wall-clock@0.2.12';

/** The recorded time of the superstep, the same at every call and in a replay. `Date.now()` and `new Date()` give it, too. */
export function now(): Date {
  const { seconds, nanoseconds } = wallClock();
  return new Date(Number(seconds) * 1000 + Math.floor(nanoseconds / 1e6));
}

/** Lets so many milliseconds pass on the virtual clock. It returns at once. */
export function sleep(milliseconds: number): void {
  using passed = subscribeDuration(Math.round(milliseconds * 1e6));
  passed.block();
}
