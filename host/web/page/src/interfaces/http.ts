// `wasi:http/outgoing-handler` and `wasi:http/types`, as in `host/engine/src/host/http`. Responses are not streamed. The worker with the walker
// checks each request and has the page send it.

import { Fault } from "../fault";
import { asKept, keptBytes, type Journal } from "../journal";
import { escape, type Plain } from "../json";
import type { HttpAnswer, HttpProblem, HttpRequest, Limits } from "../protocol";
import { asText, FieldMap, isForbidden, type Field } from "./fields";
import { DISPOSE, HostResource, InputStream, OutputStream, type Handles, type Sink } from "./streams";
import { complete, RequestBody, type Method, type Scheme } from "./request";
import { Pollable } from "./world";

const INTERFACE = "wasi:http/outgoing-handler";
/** Limits of the pieces of a request's body: their number, and their length in bytes. */
const MAX_CHUNKS = 4096;
const MAX_CHUNK = 16 << 10;

/** Outcome of a request. */
type Answer = { response: HttpAnswer } | { problem: HttpProblem };

/** Functions of the executor for requests. */
export interface Sender {
  /** Sends a request. `firstByte` is a timeout of the component, in milliseconds. */
  send(request: HttpRequest, firstByte: number | undefined): Promise<Answer>;
  /** Adds a log line of the host to those of the component. */
  warn(message: string): void;
}

const urlOf = ({ scheme, host, port, path }: HttpRequest): string => `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}${path}`;

function keptFields(fields: Field[]): Plain {
  return fields.map(([name, value]) => {
    try {
      return [name, new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value)];
    } catch {
      return [name, keptBytes(value)];
    }
  });
}

function readFields(entry: Plain | undefined): Field[] | undefined {
  if (!Array.isArray(entry)) return undefined;
  const fields = entry.map((field): Field | undefined => {
    const [name, value] = field as [string, Plain];
    const bytes = typeof value === "string" ? new TextEncoder().encode(value) : asKept(value);
    return bytes && [name, bytes];
  });
  return fields.every((field) => field !== undefined) ? fields : undefined;
}

function answerAgain(entry: Plain, ok: boolean): Answer | undefined {
  const { status, fields, body, error, message } = entry as Record<string, Plain>;
  if (!ok) return typeof error === "string" && typeof message === "string" ? { problem: { error, message } } : undefined;
  const [read, bytes] = [readFields(fields), asKept(body)];
  return typeof status === "number" && read && bytes ? { response: { status, fields: read, body: bytes } } : undefined;
}

/** Converts an error code for the component. */
function codeOf({ error }: HttpProblem): object {
  return error === "DNS-error" ? { tag: error, val: { rcode: undefined, infoCode: undefined } } : { tag: error, val: undefined };
}

export function http(limits: Limits, journal: Journal, handles: Handles, sender: Sender): Record<string, object> {
  let requests = limits.requests;
  /** Requests that were sent by the component before their bodies were finished. */
  let unfinished: { request: HttpRequest; body: RequestBody; firstByte: number | undefined; future: FutureIncomingResponse }[] = [];

  class Fields extends FieldMap {
    constructor() {
      super(handles);
    }

    static fromList(entries: Field[]): Fields {
      const fields = new Fields();
      try {
        for (const [name, value] of entries) fields.append(name, value);
      } catch (error) {
        fields[DISPOSE]();
        throw error;
      }
      return fields;
    }

    clone(): Fields {
      const copied = new Fields();
      for (const [name, value] of this.entries()) copied.add(name, value);
      return copied;
    }
  }

  class OutgoingRequest extends HostResource {
    private readonly fields: Field[];
    private asked: { method: Method; scheme?: Scheme; authority?: string; path?: string } = { method: { tag: "get" } };
    private content: RequestBody | undefined;

    constructor(headers: Fields) {
      super(handles);
      headers[DISPOSE]();
      this.fields = headers.entries();
    }

    body(): OutgoingBody {
      if (this.content) throw undefined;
      const length = this.fields.find(([name]) => name === "content-length");
      this.content = new RequestBody(length && BigInt(asText(length[1])));
      return new OutgoingBody(this.content);
    }

    method(): Method {
      return this.asked.method;
    }

    setMethod(method: Method): void {
      if (method.tag === "other" && !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method.val)) throw undefined;
      this.asked.method = method;
    }

    pathWithQuery(): string | undefined {
      return this.asked.path;
    }

    setPathWithQuery(path: string | undefined): void {
      if (path !== undefined && (!/^($|[/?])/.test(path) || /[^\x21\x23-\x3b\x3d\x3f-\x7e"\x80-\uffff]/.test(path))) throw undefined;
      this.set("path", path);
    }

    scheme(): Scheme | undefined {
      return this.asked.scheme;
    }

    setScheme(scheme: Scheme | undefined): void {
      if (scheme?.tag === "other" && !/^[A-Za-z][A-Za-z0-9+\-.]{0,63}$/.test(scheme.val)) throw undefined;
      this.set("scheme", scheme);
    }

    authority(): string | undefined {
      return this.asked.authority;
    }

    setAuthority(authority: string | undefined): void {
      if (authority !== undefined && !/^[\w\-.~!$&'()*+,;=:@%[\]]+$/.test(authority)) throw undefined;
      this.set("authority", authority);
    }

    private set(name: "path" | "scheme" | "authority", value: string | Scheme | undefined): void {
      const others = { ...this.asked };
      delete others[name];
      this.asked = value === undefined ? others : { ...others, [name]: value };
    }

    headers(): Fields {
      return copy(this.fields);
    }

    /** Consumes the request; returns it with its body, if it has one. */
    taken(): { request: HttpRequest | HttpProblem; body: RequestBody | undefined } {
      this[DISPOSE]();
      const fields = this.fields.filter(([name]) => name !== "content-length" && !isForbidden(name));
      return { request: complete({ ...this.asked, fields }), body: this.content };
    }
  }

  const copy = (fields: Field[]): Fields => {
    const map = new Fields().freeze();
    for (const [name, value] of fields) map.add(name, value);
    return map;
  };

  class OutgoingBody extends HostResource {
    private written = false;

    constructor(readonly content: RequestBody) {
      super(handles);
    }

    write(): OutputStream {
      if (this.written) throw undefined;
      this.written = true;
      let left = limits.request_body;
      let pieces = MAX_CHUNKS;
      const sink: Sink = {
        room: () => MAX_CHUNK,
        write: (bytes) => {
          left -= bytes.length;
          if (left < 0) throw new Fault("limit", `its request has a body of more than ${limits.request_body} bytes`);
          pieces -= 1;
          if (pieces < 0) throw new Fault("limit", `its request has a body in more than ${MAX_CHUNKS} pieces; it may write longer ones`);
          this.content.write(bytes);
        },
      };
      return new OutputStream(handles, sink);
    }

    static async finish(body: OutgoingBody, trailers: Fields | undefined): Promise<void> {
      const { content } = body;
      const error = content.finish();
      body[DISPOSE]();
      trailers?.[DISPOSE]();
      await bodyFinished();
      if (error) throw error;
    }

    override [DISPOSE](): void {
      this.content.abort();
      super[DISPOSE]();
    }
  }

  class RequestOptions extends HostResource {
    private connect: bigint | undefined;
    private first: bigint | undefined;
    private between: bigint | undefined;

    constructor() {
      super(handles);
    }

    connectTimeout(): bigint | undefined {
      return this.connect;
    }

    setConnectTimeout(duration: bigint | undefined): void {
      this.connect = duration;
    }

    firstByteTimeout(): bigint | undefined {
      return this.first;
    }

    setFirstByteTimeout(duration: bigint | undefined): void {
      this.first = duration;
    }

    betweenBytesTimeout(): bigint | undefined {
      return this.between;
    }

    setBetweenBytesTimeout(duration: bigint | undefined): void {
      this.between = duration;
    }
  }

  class IncomingBody extends HostResource {
    private streamed = false;

    constructor(private readonly bytes: Uint8Array) {
      super(handles);
    }

    stream(): InputStream {
      if (this.streamed) throw undefined;
      this.streamed = true;
      let left = this.bytes;
      return new InputStream(handles, (size) => {
        const length = size < BigInt(left.length) ? Number(size) : left.length;
        const read = left.subarray(0, length);
        left = left.subarray(length);
        return read;
      });
    }

    static finish(body: IncomingBody): FutureTrailers {
      body[DISPOSE]();
      return new FutureTrailers();
    }
  }

  class FutureTrailers extends HostResource {
    private consumed = false;

    constructor() {
      super(handles);
    }

    get(): object {
      if (this.consumed) return { tag: "err", val: undefined };
      this.consumed = true;
      return { tag: "ok", val: { tag: "ok", val: undefined } };
    }

    subscribe(): Pollable {
      return new Pollable();
    }
  }

  class IncomingResponse extends HostResource {
    private consumed = false;

    constructor(private readonly answer: HttpAnswer) {
      super(handles);
    }

    status(): number {
      return this.answer.status;
    }

    headers(): Fields {
      return copy(this.answer.fields.filter(([name]) => !isForbidden(name)));
    }

    consume(): IncomingBody {
      if (this.consumed) throw undefined;
      this.consumed = true;
      return new IncomingBody(this.answer.body);
    }
  }

  class FutureIncomingResponse extends HostResource {
    private consumed = false;
    answer: Answer | undefined;

    constructor() {
      super(handles);
    }

    get(): object | undefined {
      if (this.consumed) return { tag: "err", val: undefined };
      if (!this.answer) return undefined;
      this.consumed = true;
      const { answer } = this;
      return { tag: "ok", val: "response" in answer ? { tag: "ok", val: new IncomingResponse(answer.response) } : { tag: "err", val: codeOf(answer.problem) } };
    }

    subscribe(): Pollable {
      return new Pollable();
    }
  }

  /** Returns the outcome of a request, from the network or from the journal. */
  async function answered(request: HttpRequest, firstByte: number | undefined): Promise<Answer> {
    const asked = { body: journal.digested(request.body), fields: keptFields(request.fields), method: request.method, url: urlOf(request) };
    const world = async (): Promise<{ ok: boolean; value: Answer; kept: Plain }> => {
      const value = await sender.send(request, firstByte);
      if ("problem" in value) return { ok: false, value, kept: { error: value.problem.error, message: value.problem.message } };
      const { status, fields, body } = value.response;
      return { ok: true, value, kept: { body: keptBytes(body), fields: keptFields(fields), status } };
    };
    return told(await journal.ask(INTERFACE, "handle", asked, world, answerAgain));
  }

  const told = (answer: Answer): Answer => {
    if ("problem" in answer) sender.warn(`its request failed: ${escape(answer.problem.message)}`);
    return answer;
  };

  /** Sends the requests whose bodies have been finished meanwhile. */
  async function bodyFinished(): Promise<void> {
    const waiting = unfinished;
    unfinished = [];
    for (const { request, body, firstByte, future } of waiting) {
      if (body.state === "open") unfinished.push({ request, body, firstByte, future });
      else future.answer = await whole(request, body, firstByte);
    }
  }

  async function whole(request: HttpRequest, body: RequestBody | undefined, firstByte: number | undefined): Promise<Answer> {
    if (body?.state === "aborted") return told({ problem: { error: "HTTP-request-body-size", message: "the request is not as long as it says" } });
    return answered({ ...request, body: body?.bytes() ?? new Uint8Array() }, firstByte);
  }

  const outgoingHandler = {
    async handle(asked: OutgoingRequest, options: RequestOptions | undefined): Promise<FutureIncomingResponse> {
      const { request, body } = asked.taken();
      options?.[DISPOSE]();
      requests -= 1;
      if (requests < 0) throw new Fault("limit", "it sent more requests than its limit `requests` allows");
      const timeout = options?.firstByteTimeout();
      const firstByte = timeout === undefined ? undefined : Number(timeout) / 1e6;
      const future = new FutureIncomingResponse();
      if ("error" in request) future.answer = told({ problem: request });
      // The request is sent once its body is finished.
      else if (body?.state === "open") unfinished.push({ request, body, firstByte, future });
      else future.answer = await whole(request, body, firstByte);
      return future;
    },
  };

  // Components receive no requests: they only name these types.
  class AbsentResource extends HostResource {}
  return {
    "wasi:http/outgoing-handler": outgoingHandler,
    "wasi:http/types": {
      Fields,
      OutgoingRequest,
      OutgoingBody,
      RequestOptions,
      IncomingBody,
      FutureTrailers,
      IncomingResponse,
      FutureIncomingResponse,
      IncomingRequest: AbsentResource,
      OutgoingResponse: AbsentResource,
      ResponseOutparam: AbsentResource,
      httpErrorCode: () => undefined,
    },
  };
}
