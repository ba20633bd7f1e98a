// How long a call may wait for the world. Only waiting counts: a browser executes more slowly than the native host, and what executes
// without an end is ended by its fuel.

import { Fault } from "./fault";

export class Waits {
  private waited = 0;

  /** `timeout` is that of the call, in milliseconds. */
  constructor(private readonly timeout: number) {}

  /** How many milliseconds are left. */
  left(): number {
    return Math.max(this.timeout - this.waited, 0);
  }

  /** How many milliseconds were waited. */
  spent(): number {
    return this.waited;
  }

  /** Charges what a called component has waited. */
  spend(milliseconds: number): void {
    this.waited += milliseconds;
  }

  /** Waits for an answer; a `Fault` with this message if it takes longer than is left. */
  async until<T>(answer: Promise<T>, late: string): Promise<T> {
    const began = performance.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // The longest wait of a browser's timer is 24 days.
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
