// Types of the walker component, and the loader of transpiled components.

import type { DISPOSE } from "./interfaces/streams";
import type { Meter } from "./meter";

export interface Problem {
  code: string;
  message: string;
  help?: string;
  details?: string;
}

export interface VerifiedComponent {
  function(name: string): VerifiedComponent;
  report(): string;
  grant(name: string, id: string, text: string, node: string | undefined, manifest: string, folder: string): string;
}

/** Attempts that were handed out. */
export interface Attempts {
  /** Returns the grant of a component for an attempt. */
  grant(task: string, component: VerifiedComponent): string;
}

export interface Run extends Attempts {
  handle(now: bigint, event: string): string;
  summary(): string;
  checkCall(task: string, item: string, depth: number): void;
  grantCall(task: string, component: VerifiedComponent, caller: string): string;
}

/** Replay of a stored run. */
export interface Replay extends Attempts {
  [DISPOSE](): void;
  nextStep(): string;
  executed(report: string, difference: string | undefined): void;
  lookedUp(component: VerifiedComponent | undefined, engine: string): void;
  summary(): string;
}

/** Outgoing requests of a component, with the secrets that it is granted. */
export interface Outgoing {
  prepare(scheme: string, host: string, port: number, method: string, fields: [string, Uint8Array][]): [string, Uint8Array][];
  receive(host: string, status: number, fields: [string, Uint8Array][], body: Uint8Array): [[string, Uint8Array][], Uint8Array];
}

/** Finds and ranks entries of knowledge. */
export interface Ranking {
  [DISPOSE](): void;
  add(key: string, text: string): void;
  best(): string[];
  excerpt(text: string): string;
}

/** Budget of one component for models. Amounts are JSON texts, since their integers may be large. */
export interface Budget {
  [DISPOSE](): void;
  inside(limits: string): Budget;
  charge(used: string): void;
  used(): string;
  left(): string;
}

/** One call of a model, in the worker of the component. */
export interface ModelCall {
  [DISPOSE](): void;
  asked(): string;
  begin(budget: Budget): [[string, Uint8Array][], Uint8Array];
  total(budget: Budget): string;
  settle(budget: Budget, tried: string, left: bigint): string;
  late(budget: Budget): string;
  recorded(kept: string, ok: boolean): string | undefined;
}

/** The provider of a granted model, with its key. */
export interface Provider {
  prepare(fields: [string, Uint8Array][]): { url: string; fields: [string, Uint8Array][]; timeout: bigint };
  read(status: number, fields: [string, Uint8Array][], body: Uint8Array, most: bigint): string;
  failed(error: string, message: string, sent: boolean): string;
}

/** One call of a function that a component exports. */
export interface FunctionCall {
  [DISPOSE](): void;
  values(): string;
  answer(given: string, output: bigint): string;
  work(): bigint;
}

export interface Random {
  bytes(length: number): Uint8Array;
  number(): bigint;
}

export interface Walker {
  documents: {
    checkGraph(name: string, id: string, text: string): string;
    topology(name: string, id: string, text: string): string;
    checkInputs(name: string, id: string, text: string, inputs: string): string;
    checkManifest(name: string, folder: string, text: string): string;
  };
  trust: {
    Component: {
      underDevelopment(bytes: Uint8Array, store: string, item: string, imports: string[]): VerifiedComponent;
      verify(bytes: Uint8Array, envelope: string | undefined, store: string, item: string, now: bigint, recorded: bigint): VerifiedComponent;
    };
  };
  digests: { canonical(text: string): string; ofBytes(bytes: Uint8Array): string; ofManifest(name: string, folder: string, text: string): string };
  host: {
    readJson(text: string): string;
    callSeed(seed: Uint8Array, number: bigint, item: string): Uint8Array;
    Ranking: { open(prefix: string, query: string, limit: number): Ranking };
    Random: new (seed: Uint8Array) => Random;
    Outgoing: { open(grant: string, secrets: [string, string][]): Outgoing };
  };
  functions: { FunctionCall: { open(types: string, params: string): FunctionCall } };
  models: {
    usedIn(entry: string): string;
    Budget: { open(limits: string[]): Budget };
    Call: { open(grant: string, request: string): ModelCall };
    Provider: { open(grant: string, name: string, key: string | undefined): Provider };
  };
  runs: {
    Run: {
      start(setup: string): Run;
      restore(setup: string, stored: string): Run;
      fork(setup: string, stored: string, checkpoint: bigint): Run;
      verify(run: string, key: string, stored: string): string;
    };
  };
  replays: { Replay: { open(setup: string, stored: string): Replay } };
}

type InstantiateCore = (module: WebAssembly.Module, imports?: WebAssembly.Imports) => Promise<WebAssembly.Instance>;
type Instantiate<T> = (core: (path: string) => WebAssembly.Module, imports: object, instantiateCore: InstantiateCore) => Promise<T>;

/** Modules by name, compiled from verified bytes. */
export type Cores = Record<string, WebAssembly.Module>;

/** A transpiled component: the text of its JavaScript module, and its core modules. */
export interface Code {
  script: string;
  cores: Cores;
}

/** Loads a transpiled component from verified text and modules. Components with a meter count their fuel there. */
export async function load<T>({ script, cores }: Code): Promise<(imports: object, meter?: Meter) => Promise<T>> {
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { instantiate } = (await import(url).finally(() => URL.revokeObjectURL(url))) as { instantiate: Instantiate<T> };
  const core = (path: string): WebAssembly.Module => {
    const module = cores[path];
    if (module === undefined) throw new Error(`${path} is not in the bundle`);
    return module;
  };
  return (imports, meter) =>
    instantiate(core, imports, (module, given) =>
      WebAssembly.instantiate(module, meter ? { ...given, ...meter.imports(module) } : given),
    );
}

/** Returns the error of a `result` from the value that a function of a component threw; `undefined` if the call itself failed. */
export function errorOf(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  return (thrown as { payload?: unknown }).payload;
}

/** Returns the problem that a function of the walker threw, if it is one. */
export function problem(error: unknown): Problem | undefined {
  const payload = errorOf(error);
  return typeof payload === "object" && payload !== null && "code" in payload ? (payload as Problem) : undefined;
}

/** Returns the message of an error. */
export function words(error: unknown): string {
  const refused = problem(error);
  if (refused) return refused.help ? `${refused.message}\n${refused.help}` : refused.message;
  return error instanceof Error ? error.message : String(error);
}
