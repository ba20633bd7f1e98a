// `wasi:io/streams` and `wasi:io/error`, and how many handles a component holds: what files and requests have in common.

import { Fault } from "../fault";
import { Pollable } from "./world";

/** How many handles a component may hold at a time. */
const MAX_HANDLES = 256;
/** The most that the functions of a stream that block take at once. */
const MAX_BLOCKING_WRITE = 4096;

/** What the transpiled component calls as it drops a handle. */
export const DISPOSE: unique symbol = (Symbol.dispose ?? Symbol.for("dispose")) as never;

/** The handles of one call. */
export class Handles {
  private held = 0;

  take(): void {
    this.held += 1;
    if (this.held > MAX_HANDLES) throw new Fault("limit", "it holds too many handles of the host at once");
  }

  drop(): void {
    this.held -= 1;
  }
}

/** A resource of the host. */
export class Held {
  private dropped = false;

  constructor(private readonly handles: Handles) {
    handles.take();
  }

  /** Its handle is gone: it was dropped, or handed over. */
  [DISPOSE](): void {
    if (!this.dropped) this.handles.drop();
    this.dropped = true;
  }
}

/** Where the bytes of a stream come from: at most so many; none at the end. */
export type Source = (size: bigint) => Uint8Array;

export class InputStream extends Held {
  constructor(
    handles: Handles,
    private readonly source: Source,
  ) {
    super(handles);
  }

  read(size: bigint): Uint8Array {
    if (size === 0n) return new Uint8Array();
    const bytes = this.source(size);
    if (bytes.length === 0) throw { tag: "closed" };
    return bytes;
  }

  blockingRead(size: bigint): Uint8Array {
    return this.read(size);
  }

  skip(size: bigint): bigint {
    return BigInt(this.read(size).length);
  }

  blockingSkip(size: bigint): bigint {
    return this.skip(size);
  }

  subscribe(): Pollable {
    return new Pollable();
  }
}

/** Where the bytes of a stream go. */
export interface Sink {
  /** How many bytes the next write may have. */
  room(): number;
  write(bytes: Uint8Array): void;
}

/** A stream without a sink is closed. */
export class OutputStream extends Held {
  constructor(
    handles: Handles,
    private readonly sink?: Sink,
  ) {
    super(handles);
  }

  private open(): Sink {
    if (!this.sink) throw { tag: "closed" };
    return this.sink;
  }

  checkWrite(): bigint {
    return BigInt(this.open().room());
  }

  write(bytes: Uint8Array): void {
    const sink = this.open();
    if (bytes.length > sink.room()) throw new Error("write exceeded budget");
    sink.write(bytes);
  }

  blockingWriteAndFlush(bytes: Uint8Array): void {
    const sink = this.open();
    if (bytes.length > MAX_BLOCKING_WRITE) {
      throw new Error(`Buffer too large for blocking-write-and-flush (expected at most ${MAX_BLOCKING_WRITE})`);
    }
    // As natively, writing nothing is no write.
    if (bytes.length > 0) sink.write(bytes);
  }

  flush(): void {
    this.open();
  }

  blockingFlush(): void {
    this.open();
  }

  writeZeroes(length: bigint): void {
    this.write(new Uint8Array(Number(length)));
  }

  blockingWriteZeroesAndFlush(length: bigint): void {
    this.blockingWriteAndFlush(new Uint8Array(Number(length)));
  }

  splice(from: InputStream, length: bigint): bigint {
    const room = BigInt(this.open().room());
    const bytes = from.read(length < room ? length : room);
    this.write(bytes);
    return BigInt(bytes.length);
  }

  blockingSplice(from: InputStream, length: bigint): bigint {
    return this.splice(from, length);
  }

  subscribe(): Pollable {
    return new Pollable();
  }
}

/** What went wrong with a stream. Nothing that a page gives makes one. */
export class IoError extends Held {
  toDebugString(): string {
    return "";
  }
}

export const streams = (): Record<string, object> => ({
  "wasi:io/streams": { InputStream, OutputStream },
  "wasi:io/error": { Error: IoError },
});
