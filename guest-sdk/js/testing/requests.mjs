import { host } from './state.mjs';

class Disposable {
  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {}
}

export class Fields extends Disposable {
  #entries;

  constructor(entries) {
    super();
    this.#entries = entries;
  }

  static fromList(entries) {
    return new Fields(entries);
  }

  entries() {
    return this.#entries;
  }
}

export class OutgoingBody {
  bytes = [];

  static finish() {}

  write() {
    return Object.assign(new Disposable(), { blockingWriteAndFlush: bytes => this.bytes.push(...bytes) });
  }
}

export class OutgoingRequest {
  #body = new OutgoingBody();

  constructor(fields) {
    this.fields = fields;
  }

  setMethod(method) {
    this.method = method.val ?? method.tag.toUpperCase();
  }

  setScheme(scheme) {
    this.scheme = scheme.tag.toLowerCase();
  }

  setAuthority(authority) {
    this.authority = authority;
  }

  setPathWithQuery(path) {
    this.path = path;
  }

  body() {
    return this.#body;
  }
}

export function handle(request) {
  const url = `${request.scheme}://${request.authority}${request.path}`;
  const body = Uint8Array.from(request.body().bytes);
  const answer = host.serve?.({ method: request.method, url, fields: request.fields.entries(), body });
  const outcome =
    answer === undefined ? { tag: 'err', val: { tag: 'HTTP-request-denied' } } : { tag: 'ok', val: response(answer) };
  return Object.assign(new Disposable(), {
    subscribe: () => Object.assign(new Disposable(), { block() {} }),
    get: () => ({ tag: 'ok', val: outcome }),
  });
}

function response({ status, fields = [], body }) {
  let left = body;
  const stream = Object.assign(new Disposable(), {
    blockingRead(length) {
      if (left.length === 0) {
        throw { tag: 'closed' };
      }
      const part = left.slice(0, length);
      left = left.slice(length);
      return part;
    },
  });
  return Object.assign(new Disposable(), {
    status: () => status,
    headers: () => new Fields(fields),
    consume: () => Object.assign(new Disposable(), { stream: () => stream }),
  });
}
