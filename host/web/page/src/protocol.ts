// What the page, the worker of the run and the workers of its calls tell each other.

import type { BundledFunction } from "./functions";
import type { Code } from "./walker";
import type { Failure } from "./fault";
import type { Plain } from "./json";

/** What a call may use up, as effects and grants have it. */
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
  /** More of a budget of models is asked for once it is used up. */
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

/** A granted model, as far as a page looks at it. */
export interface GrantedModel {
  name: string;
  api: string;
  host: string;
  /** Where the native host reads the key: a page asks for it. */
  secret?: unknown;
}

/** What a component is granted, as the walker says it. */
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
  /** How many pages the memories of an instance of each core module begin with, by its name. */
  pages: Record<string, number>;
  /** It takes JavaScript Promise Integration. */
  waits: boolean;
  /** The functions of it that are called in place of its node action, by their names in item ids. */
  functions: Record<string, BundledFunction>;
}

/** Sets a worker of calls up. */
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
  /** The function that is called in place of the node action. */
  called?: string | undefined;
  activation: string;
  params: string;
  seed: string;
  clock: number;
  limits: Limits;
  /** The limits of the effect and of the grant: JSON texts, whose budgets of models are exact. */
  budgets: string[];
  /** The grant: a JSON text. */
  grant: string;
  /** The entries of a journal that answers it: JSON texts. */
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

export interface Done {
  id: number;
  /** A `report`, as the walker reads it. */
  report: string;
  logs: LogLine[];
  /** Where a replayed call was not what its journal says. */
  difference?: string;
}

/** A request of a component, with handles in the place of secrets. */
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

/** Why a request failed: the case of `error-code`, and details for readers of the log. */
export interface HttpProblem {
  error: string;
  message: string;
}

export type KnowledgeQuestion =
  | { ask: "knowledge"; of: "get"; key: string }
  | { ask: "knowledge"; of: "put"; key: string; text: string }
  | { ask: "knowledge"; of: "search"; prefix: string; query: string; limit: number }
  | { ask: "knowledge"; of: "list"; prefix: string; after: string | null; limit: number };

/** What knowledge answers: as an entry of a journal has it, or an error. */
export type Told = { kept: Plain } | { error: string; message: string };

/** What a call asks the worker that holds the walker. `grant` and `caller` are the grant of the component that asks. */
export type Question =
  | KnowledgeQuestion
  | { ask: "request"; grant: string; request: HttpRequest; most: number; firstByte: number | undefined }
  | { ask: "model"; grant: string; model: string; total: string; fields: [name: string, value: Uint8Array][]; body: Uint8Array; most: number }
  | { ask: "tool"; caller: string; item: string; depth: number };

/** The component of an item that another one calls, and what it is granted; or why it is not called. */
export type ToolTold = { component: string; called?: string | undefined; grant: string } | { failure: Failure };

export type RequestTold = { response: HttpAnswer } | { problem: HttpProblem };

/** A call of a model that a component has made: its entry in a journal, a JSON text. */
export interface Spent {
  spent: string;
}

/** A question on its way, and its answer. */
export interface Asked {
  asked: number;
  question: Question;
}
export interface Answered {
  answered: number;
  told: unknown;
}
