// What the page, the worker of the run and the workers of its calls tell each other.

import type { Cores } from "./walker";
import type { Entry } from "./journal";

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
}

export interface Mount {
  host: string;
  guest: string;
  access: string;
}

export interface LoadedComponent {
  digest: string;
  url: string;
  cores: Cores;
  pages: number;
}

/** Sets a worker of calls up. */
export interface Setup {
  walker: { url: string; cores: Cores };
  components: LoadedComponent[];
  files: Map<string, Blob>;
  /** Folders without files. */
  empty: string[];
}

/** A call of a component. Values of the graph are JSON texts. */
export interface Call {
  id: number;
  component: string;
  activation: string;
  params: string;
  seed: string;
  clock: number;
  limits: Limits;
  mounts: Mount[];
  played?: Entry[];
}

export interface LogLine {
  level: string;
  message: string;
}

export interface Done {
  id: number;
  /** A `report`, as the walker reads it. */
  report: string;
  logs: LogLine[];
  /** Where a replayed call was not what its journal says. */
  difference?: string;
}
