// Journal of a call's requests to the host and of the answers: recorded, or played back. As `host/engine/src/journal.rs`.

import { canonical, RawJson, type Plain } from "./json";
import { Difference, Fault, type Category } from "./fault";
import type { Limits } from "./protocol";
import type { Budget, Walker } from "./walker";

/** Bytes of content that the journal of an attempt stores in full; of further content it stores the digest. */
const KEPT_BYTES = 64 << 10;

export interface Entry {
  function: string;
  interface: string;
  ok: boolean;
  request: Plain;
  result: Plain;
}

/** Answer of the world: `value` for the component, `kept` for the entry. */
export interface Answer<T> {
  ok: boolean;
  value: T;
  kept: Plain;
}

/** Calls of the host, and the bytes of requests and answers. */
export interface CallsAndBytes {
  calls: number;
  bytes: number;
}

/** Use of the host. */
export interface HostUse extends CallsAndBytes {
  /** Use of language models: a JSON text, `{}` for none. */
  model: string;
}

/** Interfaces of calls that may use language models: their own, and that for calls of other components. */
const MODEL = "graph-host:host/model";
const TOOLS = "graph-host:host/tools";

const length = (text: string): number => new TextEncoder().encode(text).length;

const size = (entry: Entry): number =>
  length(canonical(entry.request)) + length(canonical(entry.result)) + entry.interface.length + entry.function.length;

/** Returns the result of a call that ends its attempt after language models were used. */
export const faultAfter = ({ category, message }: { category: Category; message: string }, used = "{}"): Plain => ({
  fault: { category, message },
  ...(used === "{}" ? {} : { used: new RawJson(used) }),
});

const fault = (error: Fault): Plain => error.kept ?? faultAfter(error);

const faultOf = (entry: Entry): { category: Category; message: string } | undefined =>
  entry.ok ? undefined : (entry.result as { fault?: { category: Category; message: string } } | null)?.fault;

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
  /** Host calls by components that this one called. */
  private inner = 0;

  constructor(
    private readonly limits: Limits,
    readonly budget: Budget,
    private readonly walker: Walker,
    private readonly played?: Entry[],
    /** Receives the entries of calls of models at once: they are charged even if the component does not return. */
    private readonly spent?: (entry: string) => void,
  ) {}

  private digest(bytes: Uint8Array): string {
    return this.walker.digests.ofBytes(bytes);
  }

  private push(entry: Entry): void {
    this.entries.push(entry);
    if (entry.interface === MODEL) this.spent?.(canonical(entry as unknown as Plain));
  }

  /** Returns the model use of a call, in the form of `HostUse`. */
  private usedIn(entry: Entry): string {
    const isCounted = entry.interface === MODEL || entry.interface === TOOLS;
    return isCounted ? this.walker.models.usedIn(canonical(entry as unknown as Plain)) : "{}";
  }

  /** Makes a call of the host, which the world or the journal answers. A thrown string is the error of the answer. */
  call<T>(name: string, of: string, request: Plain, world: () => { value: T; kept: Plain }, again: (kept: Plain) => T): T {
    const recorded = this.begin(name, of, request);
    if (recorded) {
      if (recorded.ok) return again(recorded.result);
      throw recorded.result;
    }
    const entry = (ok: boolean, result: Plain): Entry => ({ function: of, interface: name, ok, request, result });
    try {
      const { value, kept } = world();
      this.record(entry(true, kept));
      return value;
    } catch (error) {
      if (typeof error === "string") this.record(entry(false, error));
      else if (error instanceof Fault && this.entries.at(-1)?.request !== request) this.push(entry(false, fault(error)));
      throw error;
    }
  }

  /** Makes a call that waits for its answer. A `Fault` of the world ends the attempt. `again` returns `undefined` for an invalid entry. */
  async ask<T>(
    name: string,
    of: string,
    request: Plain,
    world: () => Promise<Answer<T>>,
    again: (kept: Plain, ok: boolean) => T | undefined,
  ): Promise<T> {
    const recorded = this.begin(name, of, request);
    if (recorded) {
      const value = again(recorded.result, recorded.ok);
      if (value === undefined) throw this.contentDiffers("its result is not one of this function");
      return value;
    }
    let answer: Answer<T>;
    try {
      answer = await world();
    } catch (error) {
      if (error instanceof Fault) this.push({ function: of, interface: name, ok: false, request, result: fault(error) });
      throw error;
    }
    this.record({ function: of, interface: name, ok: answer.ok, request, result: answer.kept });
    return answer.value;
  }

  /** Starts a call of the host; returns the entry that answers it, or `undefined` if the world does. */
  private begin(name: string, of: string, request: Plain): Entry | undefined {
    const found: Entry = { function: of, interface: name, ok: false, request, result: null };
    if (this.played) {
      const recorded = this.replay(this.played, found);
      this.budget.charge(this.usedIn(recorded));
      return recorded;
    }
    if (this.entries.length + this.inner >= this.limits.calls) {
      const error = new Fault("limit", `it called functions of the host more than ${this.limits.calls} times`);
      this.push({ ...found, result: fault(error) });
      throw error;
    }
    return undefined;
  }

  private record(entry: Entry): void {
    this.bytes += size(entry);
    if (this.bytes > this.limits.bytes) {
      const error = new Fault("limit", `what it asked of the host and what was answered takes more than ${this.limits.bytes} bytes`);
      this.push({ ...entry, ok: false, result: faultAfter(error, this.usedIn(entry)) });
      throw error;
    }
    this.push(entry);
  }

  private replay(played: Entry[], found: Entry): Entry {
    const expected = played[this.next];
    const same = expected && expected.interface === found.interface && expected.function === found.function;
    if (!same || canonical(expected.request) !== canonical(found.request)) {
      const is = expected ? called(expected) : "missing";
      throw this.differs(`entry ${this.next} of the journal is ${is}, and the component called ${called(found)}`);
    }
    this.next += 1;
    const ended = faultOf(expected);
    if (ended) throw new Fault(ended.category, ended.message, expected.result);
    return expected;
  }

  private differs(message: string): Difference {
    this.difference ??= message;
    return new Difference(message);
  }

  /** Reports that the content of the last played entry is not available again. */
  contentDiffers(reason: string): Difference {
    const entry = this.played?.[this.next - 1];
    return this.differs(`entry ${this.next - 1} of the journal is ${entry ? called(entry) : "missing"}: ${reason}`);
  }

  /** Ends the call: a played entry that is left is a difference. */
  finish(): void {
    const left = this.played?.[this.next];
    if (left) this.difference ??= `the component ended, and entry ${this.next} of the journal is ${called(left)}`;
  }

  /** Returns the host use that is left for a called component, apart from its budget; the call itself is subtracted. */
  left(): CallsAndBytes {
    const { calls, bytes } = this.limits;
    return { calls: Math.max(calls - this.entries.length - this.inner - 1, 0), bytes: Math.max(bytes - this.bytes, 0) };
  }

  /** Charges the host use of a called component. */
  usedInside({ calls, bytes, model }: HostUse): void {
    this.inner += calls;
    this.bytes += bytes;
    this.budget.charge(model);
  }

  /** Returns the use by all calls, including those of called components; refused calls use nothing. */
  used(): HostUse {
    const used = { calls: 0, bytes: 0, model: this.budget.used() };
    for (const entry of this.entries) {
      if (faultOf(entry)?.category === "limit") continue;
      const inside = (entry.result as { host?: Partial<CallsAndBytes> } | null)?.host;
      const { calls = 0, bytes = 0 } = (entry.interface === TOOLS && inside) || {};
      used.calls += 1 + calls;
      used.bytes += size(entry) + bytes;
    }
    return used;
  }

  /** Converts bytes that can be read again for an entry. */
  content(bytes: Uint8Array): Plain {
    if (bytes.length > this.keep) return this.digested(bytes);
    this.keep -= bytes.length;
    return keptBytes(bytes);
  }

  digested(bytes: Uint8Array): Plain {
    return { length: bytes.length, sha256: this.digest(bytes).slice("sha256:".length) };
  }

  /** Returns the bytes of an entry; `read` reads them again if the entry has only their digest. */
  contentAgain(entry: Plain, path: string, read: (length: number) => Uint8Array): Uint8Array {
    const whole = asKept(entry);
    if (whole) return whole;
    const { length: wanted, sha256 } = entry as { length: number; sha256?: string };
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

/** Converts bytes for an entry that stores them in full. */
export function keptBytes(bytes: Uint8Array): Plain {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return { bytes: btoa(text), length: bytes.length };
}

/** Returns the bytes that `keptBytes` wrote; `undefined` for any other value. */
export function asKept(entry: Plain | undefined): Uint8Array | undefined {
  const bytes = (entry as { bytes?: Plain } | null | undefined)?.bytes;
  return typeof bytes === "string" ? Uint8Array.from(atob(bytes), (character) => character.charCodeAt(0)) : undefined;
}

/** Returns the failure of an attempt that its deadline ended, from its journal. */
export function deadlineOf(entries: Entry[]): { category: Category; message: string } | undefined {
  const last = entries.at(-1);
  return last?.interface === "graph-host:host" && last.function === "deadline" ? faultOf(last) : undefined;
}
