// `bundle.json`, with everything that a run needs.

import type { BundledFunction } from "./functions";
import { fields, RefusedInput } from "./verify";

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
  /** Core modules, each with the initial pages of its memories in an instance. */
  cores: { name: string; pages: number }[];
  /** `true` if it was transpiled for asynchronous imports. */
  waits: boolean;
  /** Functions that are called in place of its node action. */
  functions?: BundledFunction[];
}

export interface Bundle {
  version: number;
  graph: TextFile;
  graphs: TextFile[];
  hooks: object;
  manifest: { name: string; folder: string; text: string };
  trust: string;
  /** `true` if unsigned components are accepted, as with `--allow-unsigned`. */
  allow_unsigned: boolean;
  /** Interfaces that the page provides to components; executors check that they do. */
  interfaces: string[];
  components: BundledComponent[];
  knowledge: unknown[];
  directives: unknown[];
  entries: { key: string; text: string }[];
  /** Folders that components are granted; the page asks for those that are not packed. */
  folders: { host: string; access: string; packed: boolean }[];
  /** `at` is the path on the host that wrote the bundle. For an empty folder, `path` is empty and `at` ends in a slash. */
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

/** Returns the imports that a page cannot provide. */
export function missing(bundle: Bundle, imports: string[]): string[] {
  return imports.filter((name) => !bundle.interfaces.includes(name.replace(/@.*$/, "")));
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
    interfaces: "object",
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
  if (bundle.version !== 1) throw new RefusedInput(`bundle.json is of version ${bundle.version}, and this page reads version 1`);
  return bundle;
}
