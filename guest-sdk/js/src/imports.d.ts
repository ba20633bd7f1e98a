/** The imports of a node, as they are in JavaScript: the parts of their WIT that the SDK uses. */

declare module 'graph-host:host/log@0.1.0' {
  export function log(level: import('./host.js').Level, message: string): void;
}

declare module 'graph-host:host/events@0.1.0' {
  export function emit(name: string, payload: string): void;
}

declare module 'graph-host:host/tools@0.1.0' {
  export function call(item: string, params: string): string;
}

declare module 'graph-host:host/knowledge@0.1.0' {
  export function get(key: string): string | null;
  export function put(key: string, text: string): void;
  export function search(prefix: string, query: string, limit: number): { key: string; excerpt: string }[];
  export function list(prefix: string, after: string | null, limit: number): string[];
}

declare module 'graph-host:host/model@0.1.0' {
  export type Block =
    | { tag: 'text' | 'reasoning'; val: string }
    | { tag: 'tool-call'; val: { id: string; name: string; arguments: string } }
    | { tag: 'tool-result'; val: { id: string; content: string; failed: boolean } }
    | { tag: 'media'; val: { mediaType: string; data: ArrayLike<number> } };

  export interface Message {
    role: 'user' | 'assistant';
    blocks: Block[];
  }

  export type ToolChoice = { tag: 'auto' | 'none' | 'required' } | { tag: 'named'; val: string };

  export interface Request {
    model: string;
    system: string | null;
    messages: Message[];
    tools: { name: string; description: string; parameters: string }[];
    toolChoice: ToolChoice;
    outputSchema: string | null;
    maxOutput: number | bigint | null;
    temperature: number | null;
    stop: string[];
  }

  export interface Response {
    message: Message;
    stop: 'end' | 'tool-calls' | 'max-output' | 'stop-text' | 'refused';
    usage: Record<'input' | 'output' | 'cached' | 'reasoning' | 'cost', number | bigint>;
  }

  export type Budget = Record<'calls' | 'input' | 'output' | 'cost', number | bigint | null>;

  export function complete(request: Request): Response;
  export function models(): string[];
  export function remaining(): Budget;
}

declare module 'graph-host:host/secrets@0.1.0' {
  export function handle(name: string): string;
  export function names(): string[];
}

declare module 'wasi:clocks/wall-clock@0.2.12' {
  export function now(): { seconds: number | bigint; nanoseconds: number };
}

declare module 'wasi:clocks/monotonic-clock@0.2.12' {
  export function subscribeDuration(nanoseconds: number): Disposable & { block(): void };
}

declare module 'wasi:random/random@0.2.12' {
  export function getRandomBytes(count: number): ArrayLike<number>;
}

declare module 'wasi:filesystem/preopens@0.2.12' {
  export function getDirectories(): [import('wasi:filesystem/types@0.2.12').Descriptor, string][];
}

declare module 'wasi:filesystem/types@0.2.12' {
  export interface OpenFlags {
    create?: boolean;
    directory?: boolean;
    truncate?: boolean;
  }

  export interface DescriptorFlags {
    read?: boolean;
    write?: boolean;
  }

  export interface DirectoryEntryStream extends Disposable {
    readDirectoryEntry(): { type: string; name: string } | null;
  }

  export interface Descriptor extends Disposable {
    read(length: number, offset: number): [ArrayLike<number>, boolean];
    write(bytes: Uint8Array, offset: number): number | bigint;
    readDirectory(): DirectoryEntryStream;
    openAt(flags: { symlinkFollow?: boolean }, path: string, how: OpenFlags, as: DescriptorFlags): Descriptor;
    statAt(flags: { symlinkFollow?: boolean }, path: string): { type: string; size: number | bigint };
    createDirectoryAt(path: string): void;
    unlinkFileAt(path: string): void;
  }
}

declare module 'wasi:http/outgoing-handler@0.2.12' {
  import type { FutureIncomingResponse, OutgoingRequest } from 'wasi:http/types@0.2.12';

  export function handle(request: OutgoingRequest, options: null): FutureIncomingResponse;
}

declare module 'wasi:http/types@0.2.12' {
  export type Method =
    | { tag: 'get' | 'head' | 'post' | 'put' | 'delete' | 'connect' | 'options' | 'trace' | 'patch' }
    | { tag: 'other'; val: string };

  export type Scheme = { tag: 'HTTP' } | { tag: 'HTTPS' } | { tag: 'other'; val: string };

  export interface Fields extends Disposable {
    entries(): [string, ArrayLike<number>][];
  }

  export const Fields: { fromList(entries: [string, Uint8Array][]): Fields };

  export interface OutgoingRequest extends Disposable {
    setMethod(method: Method): void;
    setScheme(scheme: Scheme): void;
    setAuthority(authority: string): void;
    setPathWithQuery(path: string): void;
    body(): OutgoingBody;
  }

  export const OutgoingRequest: new (headers: Fields) => OutgoingRequest;

  export interface OutgoingBody extends Disposable {
    write(): Disposable & { blockingWriteAndFlush(bytes: Uint8Array): void };
  }

  export const OutgoingBody: { finish(body: OutgoingBody, trailers: null): void };

  export type Result<T> = { tag: 'ok'; val: T } | { tag: 'err'; val: unknown };

  export interface FutureIncomingResponse extends Disposable {
    subscribe(): Disposable & { block(): void };
    get(): Result<Result<IncomingResponse>> | null;
  }

  export interface IncomingResponse extends Disposable {
    status(): number;
    headers(): Fields;
    consume(): IncomingBody;
  }

  export interface IncomingBody extends Disposable {
    stream(): Disposable & { blockingRead(length: number): ArrayLike<number> };
  }
}
