// `wasi:io/streams` and `wasi:io/error`, and the count of a component's handles: shared by files and requests.

import { Fault } from "../fault";
import { Pollable } from "./world";

/** Limit of handles that a component holds at a time. */
const MAX_HANDLES = 256;
/** Limit of bytes for the blocking functions of a stream. */
const MAX_BLOCKING_WRITE = 4096;

/** Method that the transpiled component calls when it drops a handle. */
export const DISPOSE: unique symbol = (Symbol.dispose ?? Symbol.for("dispose")) as never;

/** Count of the handles of one call. */
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

/** A resource of the host, which counts as a handle. */
export class HostResource {
  private dropped = false;

  constructor(private readonly handles: Handles) {
    handles.take();
  }

  /** Releases the handle: it was dropped, or handed over. */
  [DISPOSE](): void {
    if (!this.dropped) this.handles.drop();
    this.dropped = true;
  }
}

/** Source of a stream's bytes: returns at most `size` bytes, none at the end. */
export type Source = (size: bigint) => Uint8Array;

export class InputStream extends HostResource {
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

/** Destination of a stream's bytes. */
export interface Sink {
  /** Returns the limit of the next write, in bytes. */
  room(): number;
  write(bytes: Uint8Array): void;
}

/** An output stream; without a sink it is closed. */
export class OutputStream extends HostResource {
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
    // As in the native host, an empty write has no effect.
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

/** Error of a stream. A page never creates one. */
export class IoError extends HostResource {
  toDebugString(): string {
    return "";
  }
}

export const streams = (): Record<string, object> => ({
  "wasi:io/streams": { InputStream, OutputStream },
  "wasi:io/error": { Error: IoError },
});
