// HTTP requests of the worker of the run, which the page sends.

import type { PreparedRequest, RequestOutcome } from "./page_fetch";

/** Messages to the page: send a request, or abort it. */
export type FetchMessage = { news: "fetch"; id: number; sending: PreparedRequest } | { news: "give up"; id: number };
/** Outcome of a request, from the page. */
export interface FetchOutcome {
  wish: "fetched";
  id: number;
  sent: RequestOutcome;
}

export class Fetches {
  private next = 0;
  private readonly waiting = new Map<number, (sent: RequestOutcome) => void>();

  constructor(private readonly dispatch: (message: FetchMessage) => void) {}

  readonly send = (sending: PreparedRequest, signal: AbortSignal): Promise<RequestOutcome> =>
    new Promise((resolve) => {
      this.next += 1;
      const id = this.next;
      this.waiting.set(id, resolve);
      signal.addEventListener("abort", () => {
        if (this.waiting.delete(id)) this.dispatch({ news: "give up", id });
      });
      this.dispatch({ news: "fetch", id, sending });
    });

  /** Handles the outcome of a request. */
  fetched({ id, sent }: FetchOutcome): void {
    this.waiting.get(id)?.(sent);
    this.waiting.delete(id);
  }
}
