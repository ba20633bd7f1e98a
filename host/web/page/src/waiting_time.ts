// The time limit of a call. Only time spent waiting counts: a browser executes more slowly than the native host, and fuel ends endless
// computations.

import { Fault } from "./fault";

export class Waits {
  private waited = 0;

  /** `timeout` is the limit of the call, in milliseconds. */
  constructor(private readonly timeout: number) {}

  /** Returns the milliseconds that are left. */
  left(): number {
    return Math.max(this.timeout - this.waited, 0);
  }

  /** Returns the milliseconds that were spent waiting. */
  spent(): number {
    return this.waited;
  }

  /** Charges the waiting time of a called component. */
  spend(milliseconds: number): void {
    this.waited += milliseconds;
  }

  /** Waits for an answer; throws a `Fault` with the message `late` if the time is over. */
  async until<T>(answer: Promise<T>, late: string): Promise<T> {
    const began = performance.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // A timer of a browser waits at most 24 days.
    const over = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Fault("timeout", late)), Math.min(this.left(), 2 ** 31 - 1));
    });
    try {
      return await Promise.race([answer, over]);
    } finally {
      clearTimeout(timer);
      this.waited += performance.now() - began;
    }
  }
}
