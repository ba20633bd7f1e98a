/** `wasi:http/types` and `wasi:http/outgoing-handler`: one request at a time, answered by the test. */
import { Disposable } from './disposable.mjs';
import { host } from './state.mjs';

export class Fields extends Disposable {
  #entries;

  constructor(entries) {
    super();
    this.#entries = entries;
  }

  static fromList(entries) {
    for (const [name, value] of entries) {
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) || value.some(byte => byte === 0 || byte === 10 || byte === 13)) {
        throw { tag: 'invalid-syntax' };
      }
    }
    return new Fields(entries);
  }

  entries() {
    return this.#entries;
  }
}

export class OutgoingBody extends Disposable {
  chunks = [];

  write() {
    const { chunks } = this;
    return Object.assign(new Disposable(), {
      blockingWriteAndFlush(bytes) {
        if (bytes.length > 4096) {
          throw new Error('a stream takes 4096 bytes at once');
        }
        chunks.push(...bytes);
      },
    });
  }

  static finish(body) {
    closed(body);
  }
}

export class OutgoingRequest extends Disposable {
  parts = {};
  content;
  fields;

  constructor(headers) {
    super();
    closed(headers);
    this.fields = headers.entries();
  }

  setMethod(method) {
    this.parts.method = method.tag === 'other' ? method.val : method.tag.toUpperCase();
  }

  setScheme(scheme) {
    this.parts.scheme = scheme.tag.toLowerCase();
  }

  setAuthority(authority) {
    if (authority === '') {
      throw null;
    }
    this.parts.authority = authority;
  }

  setPathWithQuery(path) {
    this.parts.path = path;
  }

  body() {
    this.content = new OutgoingBody();
    return this.content;
  }
}

/** Lets the test answer. A failure that it throws is what the node sees of a server that cannot be reached. */
export function handle(request) {
  closed(request);
  const { method, scheme, authority, path } = request.parts;
  if (host.serve === undefined) {
    throw { tag: 'HTTP-request-denied' };
  }
  const { status, fields = {}, body = '' } = host.serve({
    method,
    url: `${scheme}://${authority}${path}`,
    fields: request.fields,
    body: Uint8Array.from(request.content.chunks),
  });
  const pairs = Symbol.iterator in fields ? [...fields] : Object.entries(fields);
  const received = pairs.map(([name, value]) => [name.toLowerCase(), bytesOf(value)]);
  return Object.assign(new Disposable(), {
    subscribe: () => Object.assign(new Disposable(), { block() {} }),
    get: () => ({ tag: 'ok', val: { tag: 'ok', val: responseOf(status, received, bytesOf(body)) } }),
  });
}

function responseOf(status, fields, body) {
  let rest = body;
  const stream = {
    blockingRead(length) {
      if (rest.length === 0) {
        throw { tag: 'closed' };
      }
      const chunk = rest.slice(0, length);
      rest = rest.slice(length);
      return chunk;
    },
  };
  return Object.assign(new Disposable(), {
    status: () => status,
    headers: () => new Fields(fields),
    consume: () => Object.assign(new Disposable(), { stream: () => Object.assign(new Disposable(), stream) }),
  });
}

function bytesOf(value) {
  return typeof value === 'string' ? new TextEncoder().encode(value) : value;
}

/** What is handed over belongs to the node no longer. */
function closed(handed) {
  handed[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
}
