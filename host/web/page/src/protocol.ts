// Messages between the page, the worker of the run, and the workers of its calls.

import type { BundledFunction } from "./functions";
import type { Code } from "./walker";
import type { Failure } from "./fault";
import type { Plain } from "./json";

/** Limits of a call, as in effects and grants. */
export interface Limits {
  fuel: number;
  memory: number;
  timeout: number;
  output: number;
  log: number;
  calls: number;
  bytes: number;
  written: number;
  requests: number;
  request_body: number;
  response_body: number;
  /** `true` if an exhausted model budget leads to a question for more. */
  model_asks?: boolean;
}

export interface Mount {
  host: string;
  guest: string;
  access: string;
}

export interface KnowledgeRule {
  scope: string;
  access: "ro" | "rw";
}

/** The fields of a granted model that a page uses. */
export interface GrantedModel {
  name: string;
  api: string;
  host: string;
  /** Source of the key in the native host; a page asks for it instead. */
  secret?: unknown;
}

/** Grant of a component, from the walker. */
export interface Grant {
  kinds: string[];
  filesystem: Mount[];
  secrets?: { name: string; host: string }[];
  knowledge?: KnowledgeRule[];
  models?: GrantedModel[];
  limits: Limits;
}

export interface LoadedComponent extends Code {
  digest: string;
  /** Initial pages of the memories of an instance, by the name of the core module. */
  pages: Record<string, number>;
  /** `true` if it needs JavaScript Promise Integration. */
  waits: boolean;
  /** Functions that are called in place of its node action, by their names in item ids. */
  functions: Record<string, BundledFunction>;
}

/** Setup of a worker of calls. */
export interface Setup {
  walker: Code;
  /** The interfaces that the bundle was made for. */
  interfaces: string[];
  components: LoadedComponent[];
  files: Map<string, Blob>;
  /** Folders without files. */
  empty: string[];
}

/** A call of a component. Values of the graph are JSON texts. */
export interface Call {
  id: number;
  component: string;
  /** Function that is called in place of the node action. */
  called?: string | undefined;
  activation: string;
  params: string;
  seed: string;
  clock: number;
  limits: Limits;
  /** Limits of the effect and of the grant: JSON texts, whose model budgets are exact. */
  budgets: string[];
  /** Grant, as a JSON text. */
  grant: string;
  /** Entries of the journal that answers the call, as JSON texts. */
  played?: string[];
}

export interface LogLine {
  level: string;
  message: string;
}

/** An event of a component; its payload is a JSON text. */
export interface EventRecord {
  name: string;
  payload: string;
}

export interface CallDone {
  id: number;
  /** A `report` for the walker. */
  report: string;
  logs: LogLine[];
  /** Difference of a replayed call from its journal. */
  difference?: string;
}

/** A request of a component, with handles in place of secrets. */
export interface HttpRequest {
  method: string;
  scheme: "http" | "https";
  /** A name in lower case, or an address without brackets. */
  host: string;
  port: number;
  path: string;
  fields: [name: string, value: Uint8Array][];
  body: Uint8Array;
}

export interface HttpAnswer {
  status: number;
  fields: [name: string, value: Uint8Array][];
  body: Uint8Array;
}

/** Failure of a request: the case of `error-code`, and details for the log. */
export interface HttpProblem {
  error: string;
  message: string;
}

export type KnowledgeQuestion =
  | { ask: "knowledge"; of: "get"; key: string }
  | { ask: "knowledge"; of: "put"; key: string; text: string }
  | { ask: "knowledge"; of: "search"; prefix: string; query: string; limit: number }
  | { ask: "knowledge"; of: "list"; prefix: string; after: string | null; limit: number };

/** Answer of knowledge, in the form of a journal entry, or an error. */
export type KnowledgeAnswer = { kept: Plain } | { error: string; message: string };

/** Question of a call to the worker with the walker. `grant` and `caller` are the grant of the component that asks. */
export type Question =
  | KnowledgeQuestion
  | { ask: "request"; grant: string; request: HttpRequest; most: number; firstByte: number | undefined }
  | { ask: "model"; grant: string; model: string; total: string; fields: [name: string, value: Uint8Array][]; body: Uint8Array; most: number }
  | { ask: "tool"; caller: string; item: string; depth: number };

/** Component of an item that another one calls, with its grant; or the reason why it is not called. */
export type ToolTold = { component: string; called?: string | undefined; grant: string } | { failure: Failure };

export type RequestTold = { response: HttpAnswer } | { problem: HttpProblem };

/** A call of a model that has ended: its entry in a journal, as a JSON text. */
export interface ModelSpent {
  spent: string;
}

/** A question with its number; the answer has the same number. */
export interface CallQuestion {
  asked: number;
  question: Question;
}
export interface CallAnswer {
  answered: number;
  told: unknown;
}
