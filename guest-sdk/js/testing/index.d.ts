import type { Failure } from '../src/failure.js';
import type { Budget as ModelBudget, Request as ModelRequest, Response as ModelResponse, StopReason, Usage } from '../src/model.js';

/** A request that a node has sent. */
export interface Request {
  /** In capital letters. */
  method: string;
  /** Without a fragment. */
  url: string;
  /** Names as the node wrote them. */
  fields: [string, Uint8Array][];
  /** Empty if the node sent none. */
  body: Uint8Array;
}

/** What a server answers. Texts are sent as UTF-8. */
export interface Answer {
  status: number;
  fields?: Record<string, string | Uint8Array> | Iterable<readonly [string, string | Uint8Array]>;
  body?: string | Uint8Array;
}

/** An answer of a language model with one text. */
export declare function answer(text: string, more?: { usage?: Partial<Usage>; stop?: StopReason }): ModelResponse;

/**
 * An answer of a language model that asks for tools, each by its name and its arguments, with the ids `call-1`, `call-2` and so on:
 * `calling(['search', { query: 'tides' }])`.
 */
export declare function calling(...calls: [name: string, given: unknown][]): ModelResponse;

/** What a node under test finds in place of a host. */
export declare const host: {
  /** Log lines that it wrote. */
  lines: { level: string; message: string }[];
  /** Records that it added to the event stream. */
  records: { name: string; payload: unknown }[];
  /** The granted folders: `/`, unless a test names others. What is in none of them is `denied`. */
  granted: string[];
  /** The files of the granted folders, by path. The folders around them are there, too. */
  files: Map<string, Uint8Array>;
  /** Folders that the node has created, or has emptied, by path. A test may add some. */
  folders: Set<string>;
  /** The entries of the knowledge store, by key. */
  knowledge: Map<string, string>;
  /** The handles of the secrets that are granted, by name. */
  secrets: Map<string, string>;
  /**
   * Answers a request of the node; without one, every request is refused. A `Failure` that it throws is what the node sees of a server that
   * cannot be reached.
   */
  serve: ((request: Request) => Answer) | undefined;
  /** The items that may be called, by id. One fails by throwing `{ category, message, details }`. */
  items: Map<string, (params: unknown) => unknown>;
  /**
   * Granted language models, by name: what each answers to its next calls, in order. A call without an answer is a failure, and so is an
   * answer that is a `Failure`.
   */
  models: Map<string, (ModelResponse | Failure)[]>;
  /** What is left of the task's budget of models. Answers draw on it, and a call is refused when no call is left. */
  modelBudget: ModelBudget;
  /** The requests that language models were sent, in order. */
  modelRequests: ModelRequest[];
  /** The time of the superstep, in milliseconds since 1970. `Date.now()` and `new Date()` give it, too. */
  clock: number;
  /** Where random numbers begin; setting it begins again. They are not those that a run with this seed draws. */
  seed: number;
  /** Begins anew, as before the first test: nothing is granted but `/`, and nothing was done. */
  reset(): void;
};
