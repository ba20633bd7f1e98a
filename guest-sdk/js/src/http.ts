/**
 * Requests over HTTP to the hosts that the manifest names. Needs `wasi:http/outgoing-handler` in `wants`.
 *
 * The host follows no redirects: a response with one is a response like any other. What it refuses is a failure of category `denied`; what
 * grows too large, of category `limit`; what takes too long, of category `timeout`.
 *
 * ```ts
 * import { Failure } from '@graph-host/sdk';
 * import * as http from '@graph-host/sdk/http';
 * import * as secrets from '@graph-host/sdk/secrets';
 *
 * function translate(text: string): string {
 *   const response = http.request('https://api.acme.com/translate', {
 *     method: 'POST',
 *     fields: { authorization: `Bearer ${secrets.handle('ACME_TOKEN')}`, 'content-type': 'text/plain' },
 *     body: text,
 *   });
 *   if (response.status !== 200) {
 *     throw new Failure(response.status === 429 ? 'rate-limited' : 'permanent', `the server answers with ${response.status}`);
 *   }
 *   return response.text();
 * }
 * ```
 */
import { handle } from 'wasi:http/outgoing-handler@0.2.12';
import {
  Fields,
  type FutureIncomingResponse,
  type IncomingBody,
  type IncomingResponse,
  type Method,
  OutgoingBody,
  OutgoingRequest,
  type Scheme,
} from 'wasi:http/types@0.2.12';
import { joined } from './chunks.js';
import { type Category, Failure, payload, translated } from './failure.js';
import { decode, encode } from './utf8.js';

/** How much of a body one host call writes: as much as a stream takes at once. */
const WRITE = 4096;
/** How much of a body one host call reads. */
const READ = 256 * 1024;

/** What a request has besides its URL. */
export interface Options {
  /** The method, in capital letters; `GET` without one. */
  method?: string;
  /**
   * The fields of its head: an object, or pairs where a name stands more than once. Those that say where a message ends or goes (`host`,
   * `connection` and the like) are the host's.
   */
  fields?: Record<string, string | Uint8Array> | Iterable<readonly [string, string | Uint8Array]>;
  /** The body; a text is sent as UTF-8. */
  body?: string | Uint8Array;
}

/** The whole response of a server. */
export class Response {
  constructor(
    /** The status, 100 to 599. */
    readonly status: number,
    /** The fields of its head, names in lower case. */
    readonly fields: [string, Uint8Array][],
    /** The body. */
    readonly body: Uint8Array,
  ) {}

  /** The body as UTF-8 text. */
  text(): string {
    const text = decode(this.body);
    if (text === undefined) {
      throw new Failure('invalid-input', 'the response is not UTF-8 text');
    }
    return text;
  }

  /** The first value of a field, by its name in lower case; `undefined` if there is none, or it is not UTF-8. */
  field(name: string): string | undefined {
    const found = this.fields.find(([known]) => known === name);
    return found && decode(found[1]);
  }
}

/** Asks for a URL. */
export function get(url: string): Response {
  return request(url);
}

/** Sends a request and takes the whole response. */
export function request(url: string, { method = 'GET', fields = {}, body = '' }: Options = {}): Response {
  const { scheme, authority, path } = parts(url);
  const pairs = Symbol.iterator in fields ? [...fields] : Object.entries(fields);
  const head = pairs.map(([name, value]): [string, Uint8Array] => [name, bytesOf(value)]);
  const accepted = attempt(url, () => Fields.fromList(head), 'one of its fields may not be sent');
  const outgoing = orClosed(new OutgoingRequest(accepted), request => {
    attempt(url, () => request.setMethod(methodOf(method)), 'its method is none');
    attempt(url, () => request.setScheme(scheme), 'its scheme is none');
    attempt(url, () => request.setAuthority(authority), 'its host is none');
    attempt(url, () => request.setPathWithQuery(path), 'its path is none');
    const sink = attempt(url, () => request.body(), 'its body cannot be written');
    const whole = orClosed(sink, sink => write(url, sink, bytesOf(body)));
    sent(url, () => OutgoingBody.finish(whole, null));
  });
  // The host sends a request once its body is complete.
  using pending = sent(url, () => handle(outgoing, null));
  using response = answered(url, pending);
  return taken(response);
}

/** What is to be handed over to the host; it is closed if it cannot be used. */
function orClosed<T extends Disposable>(held: T, use: (held: T) => void): T {
  try {
    use(held);
    return held;
  } catch (thrown) {
    using _closed = held;
    throw thrown;
  }
}

function bytesOf(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? encode(value) : value;
}

/** Takes a URL apart. What is behind a `#` is not sent. */
function parts(url: string): { scheme: Scheme; authority: string; path: string } {
  const [, scheme, rest] = /^(.*?):\/\/([^#]*)/s.exec(url) ?? [];
  if (scheme === undefined || rest === undefined) {
    throw invalid(url, 'a URL begins with https://');
  }
  if (scheme !== 'https' && scheme !== 'http') {
    throw invalid(url, 'a URL begins with https:// or http://');
  }
  const end = rest.search(/[/?]/);
  const [authority, path] = end < 0 ? [rest, ''] : [rest.slice(0, end), rest.slice(end)];
  return { scheme: { tag: scheme === 'https' ? 'HTTPS' : 'HTTP' }, authority, path };
}

const METHODS = ['get', 'head', 'post', 'put', 'delete', 'connect', 'options', 'trace', 'patch'] as const;

function methodOf(name: string): Method {
  const tag = METHODS.find(known => known.toUpperCase() === name);
  return tag === undefined ? { tag: 'other', val: name } : { tag };
}

function write(url: string, sink: OutgoingBody, bytes: Uint8Array): void {
  using stream = attempt(url, () => sink.write(), 'its body cannot be written');
  for (let at = 0; at < bytes.length; at += WRITE) {
    attempt(url, () => stream.blockingWriteAndFlush(bytes.slice(at, at + WRITE)), 'its body cannot be written');
  }
}

function answered(url: string, pending: FutureIncomingResponse): IncomingResponse {
  {
    using ready = pending.subscribe();
    ready.block();
  }
  // Once for a response that is not there yet, once for one that was taken before, once for what became of the request.
  const answer = pending.get();
  if (answer?.tag !== 'ok') {
    throw new Failure('internal', 'the host gave no response');
  }
  if (answer.val.tag !== 'ok') {
    throw failed(url, answer.val.val);
  }
  return answer.val.val;
}

function taken(response: IncomingResponse): Response {
  using headers = response.headers();
  const fields = headers.entries().map(([name, value]): [string, Uint8Array] => [name, Uint8Array.from(value)]);
  using incoming = response.consume();
  return new Response(response.status(), fields, read(incoming));
}

function read(incoming: IncomingBody): Uint8Array {
  using stream = incoming.stream();
  const chunks: Uint8Array[] = [];
  for (;;) {
    try {
      chunks.push(Uint8Array.from(stream.blockingRead(READ)));
    } catch (thrown) {
      const { tag } = (payload(thrown) ?? {}) as { tag?: string };
      if (tag === 'closed') {
        return joined(chunks);
      }
      throw tag === undefined ? thrown : new Failure('transient', 'the response ended before it was complete');
    }
  }
}

function invalid(url: string, what: string): Failure {
  return new Failure('invalid-input', `${url}: ${what}`);
}

function attempt<T>(url: string, call: () => T, what: string): T {
  return translated(call, () => invalid(url, what));
}

function sent<T>(url: string, call: () => T): T {
  return translated(call, thrown => failed(url, thrown));
}

function failed(url: string, code: unknown): Failure {
  const { tag } = (code ?? {}) as { tag?: string };
  const [category, what] = CODES[tag ?? ''] ?? ['permanent', 'the server does not speak HTTP as it should'];
  return new Failure(category, `${url}: ${what}`);
}

/** What the error codes of `wasi:http/types` mean to a graph: the categories and, word for word, the texts that a node in Rust has. */
const CODES: Record<string, [Category, string]> = {
  'HTTP-request-denied': ['denied', 'the request is not granted'],
  'destination-IP-prohibited': ['denied', 'its address is not granted'],
  'DNS-error': ['transient', 'its name could not be looked up'],
  'connection-refused': ['transient', 'the server takes no connections'],
  'connection-terminated': ['transient', 'the server ended the connection'],
  'connection-timeout': ['timeout', 'the server did not answer in time'],
  'HTTP-response-timeout': ['timeout', 'the server did not answer in time'],
  'TLS-certificate-error': ['permanent', "the server's certificate is refused"],
  'TLS-protocol-error': ['permanent', 'no secure connection came about'],
  'HTTP-request-body-size': ['limit', 'the request is too long'],
  'HTTP-response-body-size': ['limit', 'the response is too long'],
  'HTTP-response-header-section-size': ['limit', 'the response has too many fields'],
  'HTTP-response-content-coding': ['denied', 'the response is encoded'],
  'HTTP-request-URI-invalid': ['invalid-input', 'it is no URL that can be asked for'],
};
