/**
 * Requests over HTTP to the hosts that the manifest names. Needs `wasi:http/outgoing-handler` in `wants`.
 *
 * The host follows no redirects: a response with one is a response like any other. What it refuses is a failure of category `denied`; what
 * grows too large, of category `limit`; what takes too long, of category `timeout`.
 */
import { handle } from 'wasi:http/outgoing-handler@0.2.12';
import { Fields, type IncomingBody, OutgoingBody, OutgoingRequest } from 'wasi:http/types@0.2.12';
import { type Category, Failure, payload } from './failure.js';
import { decode, encode } from './utf8.js';

/** How much of a body one host call writes. */
const WRITE = 4096;
/** How much of a body one host call reads. */
const READ = 256 * 1024;

/** What is sent beside the URL. */
export interface Request {
  /** The method, in capital letters; `GET` without one. */
  method?: string;
  /** The fields of the head. Those that say where a message ends or goes (`host`, `connection` and the like) are the host's. */
  fields?: Record<string, string>;
  /** The body. */
  body?: string | Uint8Array;
}

/** The whole response of a server. */
export class Response {
  constructor(
    /** The status, 100 to 599. */
    readonly status: number,
    /** The fields of its head, names in lower case. */
    readonly fields: readonly (readonly [string, Uint8Array])[],
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

/** Sends a request and takes the whole response. */
export function request(url: string, { method = 'GET', fields = {}, body = '' }: Request = {}): Response {
  const invalid = (what: string) => new Failure('invalid-input', `${url}: ${what}`);
  const [, scheme, authority, path] = /^(https?):\/\/([^/?#]*)([^#]*)/.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || path === undefined) {
    throw invalid('a URL begins with https:// or http://');
  }
  const head = Object.entries(fields).map(([name, value]): [string, Uint8Array] => [name, encode(value)]);
  const accepted = attempt(() => Fields.fromList(head), () => invalid('one of its fields may not be sent'));
  const outgoing = new OutgoingRequest(accepted);
  attempt(() => outgoing.setMethod(methodOf(method)), () => invalid('its method is none'));
  attempt(() => outgoing.setScheme({ tag: scheme === 'https' ? 'HTTPS' : 'HTTP' }), () => invalid('its scheme is none'));
  attempt(() => outgoing.setAuthority(authority), () => invalid('its host is none'));
  attempt(() => outgoing.setPathWithQuery(path), () => invalid('its path is none'));
  const failing = (thrown: unknown) => failed(url, payload(thrown));
  const sink = outgoing.body();
  const bytes = typeof body === 'string' ? encode(body) : body;
  {
    using stream = sink.write();
    for (let at = 0; at < bytes.length; at += WRITE) {
      attempt(() => stream.blockingWriteAndFlush(bytes.slice(at, at + WRITE)), () => invalid('its body cannot be written'));
    }
  }
  attempt(() => OutgoingBody.finish(sink, null), failing);
  // The host sends a request once its body is complete.
  using pending = attempt(() => handle(outgoing, null), failing);
  {
    using ready = pending.subscribe();
    ready.block();
  }
  const answer = pending.get();
  if (answer?.tag !== 'ok') {
    throw new Failure('internal', 'the host gave no response');
  }
  if (answer.val.tag === 'err') {
    throw failed(url, answer.val.val);
  }
  using response = answer.val.val;
  using headers = response.headers();
  const received = headers.entries().map(([name, value]): [string, Uint8Array] => [name, Uint8Array.from(value)]);
  using incoming = response.consume();
  return new Response(response.status(), received, readAll(incoming));
}

/** Asks for a URL. */
export function get(url: string): Response {
  return request(url);
}

function attempt<T>(call: () => T, failure: (thrown: unknown) => Failure): T {
  try {
    return call();
  } catch (thrown) {
    throw failure(thrown);
  }
}

const METHODS = ['get', 'head', 'post', 'put', 'delete', 'options', 'patch'];

function methodOf(method: string): { tag: string; val?: string } {
  const tag = method.toLowerCase();
  return METHODS.includes(tag) && method === method.toUpperCase() ? { tag } : { tag: 'other', val: method };
}

function readAll(body: IncomingBody): Uint8Array {
  const parts: Uint8Array[] = [];
  using stream = body.stream();
  for (;;) {
    try {
      parts.push(Uint8Array.from(stream.blockingRead(READ)));
    } catch (thrown) {
      if ((payload(thrown) as { tag?: string } | undefined)?.tag === 'closed') {
        break;
      }
      throw new Failure('transient', 'the response ended before it was complete');
    }
  }
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}

/** What the error codes of `wasi:http/types` mean to a graph. */
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

function failed(url: string, code: unknown): Failure {
  const tag = (code as { tag?: string } | undefined)?.tag ?? '';
  const [category, what] = CODES[tag] ?? ['permanent', 'the server does not speak HTTP as it should'];
  return new Failure(category, `${url}: ${what}`);
}
