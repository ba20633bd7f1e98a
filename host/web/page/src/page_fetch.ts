// Sends requests from the page itself: its Content Security Policy, which names the origins that the manifest permits, applies here, whatever
// the server of the page sends with its workers.

import type { FetchMessage, FetchOutcome } from "./worker_fetch";
import type { HttpProblem } from "./protocol";

/** A checked request, with its secrets. */
export interface PreparedRequest {
  url: string;
  method: string;
  fields: [name: string, value: string][];
  body: Uint8Array<ArrayBuffer>;
  /** Limit of the response body, in bytes. */
  most: number;
  /** Time limit of the whole response, in milliseconds. */
  within: number | undefined;
}

/** Outcome of a request. Values of fields have one character for each byte. */
export type RequestOutcome = { status: number; fields: [name: string, value: string][]; body: Uint8Array<ArrayBuffer> } | HttpProblem;

const MAX_FIELDS = 128;
const MAX_HEAD = 64 << 10;

/** Fields that only a browser may write: `fetch` would silently drop them. */
const OF_THE_BROWSER =
  /^(accept-charset|access-control-.*|cookie2?|date|dnt|origin|permissions-policy|referer|set-cookie|via|x-http-method(-override)?|x-method-override|proxy-.*|sec-.*)$/;

/** Returns the reason why a browser cannot send a request, if there is one. */
function refusal({ method, fields, body }: PreparedRequest): HttpProblem | undefined {
  const denied = (message: string): HttpProblem => ({ error: "HTTP-request-denied", message });
  const own = fields.find(([name]) => OF_THE_BROWSER.test(name));
  if (own) return denied(`a browser writes the field \`${own[0]}\` itself: a page cannot send it`);
  if (["CONNECT", "TRACE", "TRACK"].includes(method)) return denied(`a browser sends no ${method} request of a page`);
  if (["GET", "HEAD"].includes(method) && body.length > 0) return denied(`a browser sends no body with ${method}`);
  return undefined;
}

async function read(response: Response, most: number): Promise<Uint8Array<ArrayBuffer> | HttpProblem> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      return { error: "HTTP-response-body-size", message: `the response is longer than ${most} bytes` };
    }
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
}

function fieldsOf(response: Response): [string, string][] {
  const fields = [...response.headers];
  // The browser has decoded the body: the fields about its encoding and length do not describe the bytes here.
  const isEncoded = response.headers.has("content-encoding");
  return fields.filter(([name]) => !isEncoded || !["content-encoding", "content-length"].includes(name));
}

async function send(sending: PreparedRequest, given: AbortSignal): Promise<RequestOutcome> {
  const refused = refusal(sending);
  if (refused) return refused;
  const { url, method, fields, body, most, within } = sending;
  const late = within === undefined ? undefined : AbortSignal.timeout(within);
  const signal = late ? AbortSignal.any([given, late]) : given;
  const failed = (error: string, message: string): HttpProblem =>
    late?.aborted ? { error: "HTTP-response-timeout", message: "the server did not answer in time" } : { error, message };
  let response: Response;
  try {
    // Redirects are not followed. With `manual`, unlike with `error`, they can be distinguished from unreachable servers.
    const how = { redirect: "manual", credentials: "omit", cache: "no-store", mode: "cors", referrerPolicy: "no-referrer" } as const;
    const headers = fields.filter(([name]) => name !== "accept-encoding");
    response = await fetch(url, { ...how, method, headers, ...(body.length > 0 ? { body } : {}), signal });
  } catch {
    return failed("connection-refused", "the browser did not reach the server, or the server does not permit requests of this page (CORS)");
  }
  if (response.type === "opaqueredirect") return { error: "HTTP-protocol-error", message: "the server redirects, and a page does not see where to" };
  const head = fieldsOf(response);
  if (head.length > MAX_FIELDS || head.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0) > MAX_HEAD) {
    return { error: "HTTP-response-header-section-size", message: `the response has more than ${MAX_FIELDS} fields or ${MAX_HEAD} bytes of them` };
  }
  try {
    const whole = await read(response, most);
    return whole instanceof Uint8Array ? { status: response.status, fields: head, body: whole } : whole;
  } catch {
    return failed("connection-terminated", "the server ended the connection before its response was complete");
  }
}

/** The requests that the page sends for the worker of the run. */
export class PageFetches {
  private readonly under = new Map<number, AbortController>();

  constructor(private readonly dispatch: (outcome: FetchOutcome) => void) {}

  take(message: FetchMessage): void {
    if (message.news === "give up") {
      this.under.get(message.id)?.abort();
      return;
    }
    const { id, sending } = message;
    const controller = new AbortController();
    this.under.set(id, controller);
    void send(sending, controller.signal).then((sent) => {
      this.under.delete(id);
      this.dispatch({ wish: "fetched", id, sent });
    });
  }
}
