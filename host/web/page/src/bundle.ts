// `bundle.json`: everything that a run needs.

import { fields, Refused } from "./verify";

export interface TextFile {
  name: string;
  id: string;
  text: string;
}

export interface BundledComponent {
  item: string;
  version?: string;
  digest: string;
  path: string;
  envelope?: string;
  imports: string[];
  cores: string[];
  memory: { pages: number };
  /** It was transpiled for imports that wait. */
  waits: boolean;
}

export interface Bundle {
  version: number;
  graph: TextFile;
  graphs: TextFile[];
  hooks: object;
  manifest: { name: string; folder: string; text: string };
  trust: string;
  /** Components without a signature are taken, as `--allow-unsigned` does. */
  allow_unsigned: boolean;
  components: BundledComponent[];
  knowledge: unknown[];
  directives: unknown[];
  entries: unknown[];
  /** Folders that components are granted; those that are not packed are asked for. */
  folders: { host: string; access: string; packed: boolean }[];
  /** `at` is where it is, on the host that wrote the bundle; that of an empty folder, which has no path, ends in a slash. */
  files: { path: string; digest: string; at: string }[];
  engine: string;
  inputs_schema?: unknown;
  example_inputs?: unknown;
  needs_jspi: string[];
  missing_checks: { node: string; message: string }[];
  pins?: string;
  texts?: unknown[];
  export?: string;
}

/** What a page can give to a component. */
const GIVEN = [
  "graph-host:host/log",
  "graph-host:host/events",
  "graph-host:node/types",
  "wasi:clocks/wall-clock",
  "wasi:clocks/monotonic-clock",
  "wasi:random/random",
  "wasi:random/insecure",
  "wasi:random/insecure-seed",
  "wasi:filesystem/types",
  "wasi:filesystem/preopens",
  "wasi:io/streams",
  "wasi:io/poll",
  "wasi:io/error",
];

/** The interfaces of these that a page cannot give. */
export function missing(imports: string[]): string[] {
  return imports.filter((name) => !GIVEN.includes(name.replace(/@.*$/, "")));
}

export function read(text: string): Bundle {
  const bundle = fields<Bundle>("bundle.json", JSON.parse(text), {
    version: "number",
    graph: "object",
    graphs: "object",
    hooks: "object",
    manifest: "object",
    trust: "string",
    allow_unsigned: "boolean",
    components: "object",
    knowledge: "object",
    directives: "object",
    entries: "object",
    folders: "object",
    files: "object",
    engine: "string",
    inputs_schema: "any",
    example_inputs: "any",
    needs_jspi: "object",
    missing_checks: "object",
    pins: "any",
    texts: "any",
    export: "any",
  });
  if (bundle.version !== 1) throw new Refused(`bundle.json is of version ${bundle.version}, and this page reads version 1`);
  return bundle;
}
