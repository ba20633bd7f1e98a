// Errors that end a call, in the words of the native host.

import type { Plain } from "./json";

export type Category = "transient" | "rate-limited" | "timeout" | "permanent" | "invalid-input" | "denied" | "limit" | "internal";

export interface Failure {
  category: Category;
  message: string;
  details?: string;
}

/** A fault of a component in a host call. It is thrown, so that it ends the call. */
export class Fault extends Error {
  constructor(
    readonly category: Category,
    message: string,
    /** Result in the entry of the host call, if it is more than this failure. */
    readonly kept?: Plain,
  ) {
    super(message);
  }

  /** Returns whether a budget of language models does not suffice. */
  isOfModels(): boolean {
    const { fault } = (this.kept ?? {}) as { fault?: { figure?: unknown } };
    return fault?.figure !== undefined;
  }
}

/** A replayed call that differs from its journal. */
export class Difference extends Fault {
  constructor(message: string) {
    super("internal", message);
  }
}

const TRAPS: [RegExp, string][] = [
  [/unreachable/, "it reached an `unreachable` instruction, as a panic does; its log may say why"],
  [/out of bounds memory access|memory access out of bounds/, "wasm trap: out of bounds memory access (calls that nest too deeply can end so, too)"],
  [/(divide|remainder) by zero/, "wasm trap: integer divide by zero"],
  [/unrepresentable|integer overflow/, "wasm trap: integer overflow"],
  [/table index is out of bounds|table access out of bounds|out of bounds table access/, "wasm trap: undefined element: out of bounds table access"],
  [/signature mismatch|call type mismatch/, "wasm trap: indirect call type mismatch"],
];

/** State of a stopped meter: the reason, the amount that was requested, and the pages that were left: `host/docs/design/fuel.md`. */
export interface StoppedMeter {
  stop: number;
  wanted: bigint;
  pages: bigint;
}

const PAGE = 65536n;
/** Limit of elements of a table. */
const MAX_TABLE_ELEMENTS = 100_000;

/** Returns the message about a request for more memory than a call may have. */
export const tooMuchMemory = (wanted: bigint, memory: number): string => `it asked for ${wanted} bytes of memory; ${memory} are allowed`;

/** Converts an error of a call to a failure. `memory` is the limit in bytes. */
export function classify(error: unknown, { stop, wanted, pages }: StoppedMeter, memory: number): Failure {
  const over = (message: string): Failure => ({ category: "limit", message });
  if (error instanceof Fault) return { category: error.category, message: error.message };
  if (stop === 1) return over("it used up its fuel");
  if (stop === 2) return over(tooMuchMemory((BigInt(Math.floor(memory / Number(PAGE))) - pages + wanted) * PAGE, memory));
  if (stop === 3) return over(`it asked for a table of ${wanted} elements; ${MAX_TABLE_ELEMENTS} are allowed`);
  if (error instanceof RangeError) return over("it used up its stack: its calls nest too deeply");
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof WebAssembly.RuntimeError) {
    const known = TRAPS.find(([pattern]) => pattern.test(message));
    return { category: "internal", message: `it trapped: ${known ? known[1] : message}` };
  }
  return { category: "internal", message: `it broke the contract between component and host: ${message}` };
}
