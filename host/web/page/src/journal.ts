// What a call asked of the host and what was answered: kept, or played back. As `host/engine/src/journal.rs`.

import { canonical, type Plain } from "./json";
import { Difference, Fault, type Category } from "./fault";
import type { Limits } from "./protocol";

/** How many bytes of contents an attempt's journal keeps whole; of all others it keeps the digest. */
const KEPT_BYTES = 64 << 10;

export interface Entry {
  function: string;
  interface: string;
  ok: boolean;
  request: Plain;
  result: Plain;
}

export type Answer = { ok: boolean; result: Plain };

const length = (text: string): number => new TextEncoder().encode(text).length;

const size = (entry: Entry): number =>
  length(canonical(entry.request)) + length(canonical(entry.result)) + entry.interface.length + entry.function.length;

const fault = (error: Fault): Plain => ({ fault: { category: error.category, message: error.message } });

const called = (entry: Entry): string => {
  const request = canonical(entry.request);
  return `${entry.interface}#${entry.function}(${request.length > 300 ? `${request.slice(0, 300)}..` : request})`;
};

export class Journal {
  readonly entries: Entry[] = [];
  difference: string | undefined;
  private bytes = 0;
  private keep = KEPT_BYTES;
  private next = 0;

  constructor(
    private readonly limits: Limits,
    private readonly digest: (bytes: Uint8Array) => string,
    private readonly played?: Entry[],
  ) {}

  /** Makes a call of the host: the world answers it, or the journal does. An error that is no `Fault` is the answer's error. */
  call<T>(name: string, of: string, request: Plain, world: () => { value: T; kept: Plain }, again: (kept: Plain) => T): T {
    if (this.played) return this.replay(this.played, name, of, request, again);
    const entry = (ok: boolean, result: Plain): Entry => ({ function: of, interface: name, ok, request, result });
    if (this.entries.length >= this.limits.calls) {
      const error = new Fault("limit", `it called functions of the host more than ${this.limits.calls} times`);
      this.entries.push(entry(false, fault(error)));
      throw error;
    }
    try {
      const { value, kept } = world();
      this.record(entry(true, kept));
      return value;
    } catch (error) {
      if (typeof error === "string") this.record(entry(false, error));
      else if (error instanceof Fault && this.entries.at(-1)?.request !== request) this.entries.push(entry(false, fault(error)));
      throw error;
    }
  }

  private record(entry: Entry): void {
    this.bytes += size(entry);
    if (this.bytes > this.limits.bytes) {
      const error = new Fault("limit", `what it asked of the host and what was answered takes more than ${this.limits.bytes} bytes`);
      this.entries.push({ ...entry, ok: false, result: fault(error) });
      throw error;
    }
    this.entries.push(entry);
  }

  private replay<T>(played: Entry[], name: string, of: string, request: Plain, again: (kept: Plain) => T): T {
    const expected = played[this.next];
    const found: Entry = { function: of, interface: name, ok: true, request, result: null };
    if (!expected || called({ ...expected, ok: true }) !== called(found) || canonical(expected.request) !== canonical(request)) {
      const is = expected ? called(expected) : "missing";
      throw this.differs(`entry ${this.next} of the journal is ${is}, and the component called ${called(found)}`);
    }
    this.next += 1;
    if (expected.ok) return again(expected.result);
    const ended = (expected.result as { fault?: { category: Category; message: string } } | null)?.fault;
    if (ended) throw new Fault(ended.category, ended.message);
    throw expected.result;
  }

  private differs(message: string): Difference {
    this.difference ??= message;
    return new Difference(message);
  }

  /** The content of the entry that was played last cannot be had again. */
  contentDiffers(reason: string): Difference {
    const entry = this.played?.[this.next - 1];
    return this.differs(`entry ${this.next - 1} of the journal is ${entry ? called(entry) : "missing"}: ${reason}`);
  }

  /** The call has ended: nothing of what is played may be left. */
  finish(): void {
    const left = this.played?.[this.next];
    if (left) this.difference ??= `the component ended, and entry ${this.next} of the journal is ${called(left)}`;
  }

  /** Bytes that can be had again, as an entry has them. */
  content(bytes: Uint8Array): Plain {
    if (bytes.length > this.keep) return this.digested(bytes);
    this.keep -= bytes.length;
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return { bytes: btoa(text), length: bytes.length };
  }

  digested(bytes: Uint8Array): Plain {
    return { length: bytes.length, sha256: this.digest(bytes).slice("sha256:".length) };
  }

  /** The bytes of an entry; `read` reads them again where the entry has their digest alone. */
  contentAgain(kept: Plain, path: string, read: (length: number) => Uint8Array): Uint8Array {
    const { bytes, length: wanted, sha256 } = kept as { bytes?: string; length: number; sha256?: string };
    if (bytes !== undefined) return Uint8Array.from(atob(bytes), (character) => character.charCodeAt(0));
    let found: Uint8Array;
    try {
      found = read(wanted);
    } catch {
      throw this.contentDiffers(`\`${path}\` cannot be read again: it is not in this page`);
    }
    if (found.length !== wanted || this.digest(found) !== `sha256:${sha256}`) throw this.contentDiffers(`\`${path}\` has another content by now`);
    return found;
  }
}

/** The failure of an attempt that was ended because its time was over, out of its journal. */
export function deadlineOf(entries: Entry[]): { category: Category; message: string } | undefined {
  const last = entries.at(-1);
  if (last?.interface !== "graph-host:host" || last.function !== "deadline") return undefined;
  return (last.result as { fault?: { category: Category; message: string } }).fault;
}

