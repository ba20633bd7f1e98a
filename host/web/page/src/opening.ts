// Opens a bundle: verifies its files and components, and plans its grants.

import { missing, read, type Bundle } from "./bundle";
import { hasJspi } from "./executor";
import { Fetches, type FetchMessage } from "./worker_fetch";
import { members } from "./json";
import { KnowledgeBase } from "./knowledge_base";
import type { Item } from "./performer";
import { Pool } from "./pool";
import type { Grant, LoadedComponent, Setup } from "./protocol";
import { keyOf, Services } from "./services";
import { Store } from "./store";
import { open, RefusedInput, type Key, type OpenedBundle } from "./verify";
import { load, words, type Code, type Cores, type Walker } from "./walker";

export interface PlannedItem {
  item: string;
  nodes: string[];
  digest: string;
  signers: string[];
  interfaces: string[];
  folders: string[];
}

export interface Plan {
  graph: string;
  description: string;
  key: Key;
  files: number;
  /** Checks that only the command line can make. */
  unchecked: string[];
  /** Folders that the user has to choose. */
  folders: string[];
  /** Secrets whose values the user has to enter; with `model`, the key of that model. */
  secrets: AskedSecret[];
  items: PlannedItem[];
  problems: string[];
  /** `true` if the bundle has a run to replay. */
  replayable: boolean;
  inputsSchema: string;
  exampleInputs: string;
}

/** A secret that the page asks for, with the host to which it is sent. */
export interface AskedSecret {
  name: string;
  host: string;
  model?: string;
}

/** An open bundle. */
export interface OpenBundle {
  /** The exported run in the bundle; empty if there is none. */
  packed: Uint8Array<ArrayBuffer>;
  setup: Setup;
  /** Text of the script of all workers. */
  worker: string;
  bundle: Bundle;
  walker: Walker;
  items: Map<string, Item>;
  pool: Pool | undefined;
  store: Store;
  services: Services;
  fetches: Fetches;
  /** Grants of components, as JSON texts: of those that nodes name, and of those that may be called. */
  grants: string[];
  plan: Plan;
}

const text = (bytes: Uint8Array): string => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

async function compile(opened: OpenedBundle, folder: string, names: string[]): Promise<Cores> {
  const each = names.map(async (name) => {
    const bytes = await opened.read(folder + name);
    try {
      return [name, await WebAssembly.compile(bytes)] as const;
    } catch (error) {
      throw new RefusedInput(`\`${folder}${name}\` does not run in this browser: ${words(error)}`);
    }
  });
  return Object.fromEntries(await Promise.all(each));
}

async function loadWalker(opened: OpenedBundle): Promise<Code> {
  const folder = "assets/";
  const script = text(await opened.read(`${folder}walker.js`));
  const names = opened.paths.filter((path) => /^assets\/walker\.core\d*\.wasm$/.test(path)).map((path) => path.slice(folder.length));
  return { script, cores: await compile(opened, folder, names) };
}

export async function openBundle(base: string, dispatch: (message: FetchMessage) => void): Promise<OpenBundle> {
  const opened = await open(base);
  // The page itself is verified, too, although a changed page could omit that.
  const [worker] = await Promise.all(["assets/worker.js", "index.html", "assets/page.js", "assets/page.css"].map((path) => opened.read(path)));
  const walkerSetup = await loadWalker(opened);
  const walker = await (await load<Walker>(walkerSetup))({});
  const bundle = read(text(await opened.read("bundle.json")));
  const problems: string[] = [];
  const items = new Map<string, Item>();
  const components = new Map<string, LoadedComponent>();
  for (const bundled of bundle.components) {
    const bytes = await opened.read(`${bundled.path}/component.wasm`);
    const verify = (recorded: bigint): Item["verified"] =>
      bundle.allow_unsigned && bundled.envelope === undefined
        ? walker.trust.Component.underDevelopment(bytes, bundle.trust, bundled.item, bundled.imports)
        : walker.trust.Component.verify(bytes, bundled.envelope, bundle.trust, bundled.item, BigInt(Date.now()), recorded);
    try {
      const verified = verify(BigInt(Date.now()));
      const report = JSON.parse(verified.report()) as { digest: string; not_after: number | null };
      if (report.digest !== bundled.digest) throw new RefusedInput(`\`${bundled.item}\` is ${report.digest}, and bundle.json names ${bundled.digest}`);
      const item = { bundled, verified, notAfter: report.not_after ?? undefined, again: (recorded: bigint) => void verify(recorded) };
      // Actions may name the item with its version.
      const ids = [bundled.item, ...(bundled.version === undefined ? [] : [`${bundled.item}@${bundled.version}`])];
      const called = (bundled.functions ?? []).map(({ name }) => ({ ...item, verified: verified.function(name), called: name }));
      for (const id of ids) for (const of of [item, ...called]) items.set("called" in of ? `${id}#${of.called}` : id, of);
    } catch (error) {
      problems.push(words(error));
      continue;
    }
    const lacking = missing(bundle, bundled.imports);
    if (lacking.length > 0) {
      problems.push(`\`${bundled.item}\` needs ${lacking.map((name) => `\`${name}\``).join(", ")}, which a page cannot give`);
      continue;
    }
    const functions = Object.fromEntries((bundled.functions ?? []).map((one) => [one.name, one]));
    const known = components.get(bundled.digest);
    if (known) {
      Object.assign(known.functions, functions);
      continue;
    }
    const script = text(await opened.read(`${bundled.path}/component.js`));
    const cores = await compile(opened, `${bundled.path}/`, bundled.cores.map(({ name }) => name));
    const pages = Object.fromEntries(bundled.cores.map(({ name, pages }) => [name, pages]));
    components.set(bundled.digest, { digest: bundled.digest, script, cores, pages, waits: bundled.waits, functions });
  }
  const files = new Map<string, Blob>();
  const empty = bundle.folders.map(({ host }) => host);
  await Promise.all(
    bundle.files.map(async ({ path, at }) => {
      if (path === "") empty.push(at.replace(/\/$/, ""));
      else files.set(at, new Blob([await opened.read(path)]));
    }),
  );
  const packed = bundle.export === undefined ? new Uint8Array() : await opened.read(bundle.export);
  const grants = grantsOf(bundle, items);
  const plan = planOf(bundle, walker, items, grants, problems, opened);
  const setup: Setup = { walker: walkerSetup, interfaces: bundle.interfaces, components: [...components.values()], files, empty };
  const fetches = new Fetches(dispatch);
  const services = new Services(walker, items, new KnowledgeBase(walker, base, bundle.entries), fetches.send);
  const opening: OpenBundle = { packed, bundle, walker, items, setup, worker: text(worker ?? new Uint8Array()), pool: undefined, store: await Store.open(), services, fetches, grants, plan };
  // Workers load everything now, so that a run needs no network.
  if (problems.length === 0 && plan.folders.length === 0) await poolOf(opening);
  return opening;
}

export async function poolOf(of: OpenBundle): Promise<Pool> {
  of.pool ??= await Pool.of(of.setup, of.worker, Math.min(Math.max(navigator.hardwareConcurrency, 1), 4));
  return of.pool;
}

/** Returns the grants of a bundle's components, independent of nodes. Refused components are omitted. */
function grantsOf(bundle: Bundle, items: Map<string, Item>): string[] {
  const { name, id, text: graph } = bundle.graph;
  const { folder, text: manifest } = bundle.manifest;
  return [...items.values()].flatMap(({ verified }) => {
    try {
      return [members(verified.grant(name, id, graph, undefined, manifest, folder)).get("grant") ?? "{}"];
    } catch {
      return [];
    }
  });
}

/** Returns the secrets of grants and the keys of their models, each with its host. */
function secretsOf(grants: string[]): AskedSecret[] {
  const each = grants.flatMap((text): AskedSecret[] => {
    const { secrets = [], models = [] } = JSON.parse(text) as Grant;
    const locked = models.filter(({ secret }) => secret !== undefined);
    const keys = locked.map((model) => ({ name: keyOf(model), host: model.host, model: model.name }));
    return [...secrets.map(({ name, host }) => ({ name, host })), ...keys];
  });
  return [...new Map(each.map((one) => [one.name, one])).values()];
}

interface GraphReport {
  ok: boolean;
  problems: { message: string }[];
  graph?: { description?: string; nodes: { name: string; action?: { primary: string; item_type: string; item_id: string } | null }[] };
}

function planOf(bundle: Bundle, walker: Walker, items: Map<string, Item>, grants: string[], problems: string[], opened: OpenedBundle): Plan {
  const planned = new Map<string, PlannedItem>();
  let description = "";
  for (const { name, id, text: graph } of [bundle.graph, ...bundle.graphs]) {
    const report = JSON.parse(walker.documents.checkGraph(name, id, graph)) as GraphReport;
    if (!report.ok) problems.push(...report.problems.map(({ message }) => message));
    if (id === bundle.graph.id) description = report.graph?.description ?? "";
    for (const node of report.graph?.nodes ?? []) {
      const action = node.action;
      if (!action || action.item_id.includes("${")) continue;
      // The walker performs these items itself.
      const isOfWalker = action.item_id === "graph/validate" || action.item_id === "rye/agent/threads/orchestrator";
      if (isOfWalker && action.primary === "execute" && action.item_type === "tool") continue;
      if (bundle.graphs.some((graph) => graph.id === action.item_id)) continue;
      if (action.primary !== "execute") {
        problems.push(`node \`${node.name}\` would \`${action.primary}\` an item, which a page cannot do`);
        continue;
      }
      const item = items.get(action.item_id);
      if (!item) {
        const path = action.item_id.replace(/[@#].*$/, "");
        if (!bundle.components.some(({ item: known }) => known === path)) problems.push(`\`${action.item_id}\` is not in the bundle`);
        continue;
      }
      try {
        const { folder, text: manifest } = bundle.manifest;
        const { grant } = JSON.parse(item.verified.grant(name, id, graph, node.name, manifest, folder)) as {
          grant: { filesystem: { guest: string; access: string }[] };
        };
        const writable = grant.filesystem.filter(({ access }) => access !== "ro").map(({ guest }) => `\`${guest}\``);
        if (writable.length > 0) problems.push(`\`${action.item_id}\` is granted ${writable.join(", ")} to write, and a page writes to no folder`);
        const entry = planned.get(action.item_id) ?? entryOf(item, grant.filesystem.map(({ guest }) => guest));
        entry.nodes.push(node.name);
        planned.set(action.item_id, entry);
      } catch (error) {
        problems.push(words(error));
      }
    }
  }
  if (bundle.needs_jspi.length > 0 && !hasJspi()) {
    const nodes = bundle.needs_jspi.map((node) => `\`${node}\``).join(", ");
    problems.push(`components of ${nodes} wait for the host, which takes JavaScript Promise Integration (JSPI): this browser has none`);
  }
  return {
    graph: bundle.graph.id,
    description,
    key: opened.key,
    files: opened.paths.length,
    unchecked: bundle.missing_checks.map(({ node, message }) => `node \`${node}\`: ${message}`),
    folders: bundle.folders.filter(({ packed }) => !packed).map(({ host }) => host),
    secrets: secretsOf(grants),
    items: [...planned.values()],
    problems: [...new Set(problems)],
    replayable: bundle.export !== undefined,
    inputsSchema: JSON.stringify(bundle.inputs_schema ?? null),
    exampleInputs: JSON.stringify(bundle.example_inputs ?? {}),
  };
}

function entryOf(item: Item, folders: string[]): PlannedItem {
  const report = JSON.parse(item.verified.report()) as { id: string; digest: string; keys: { name: string }[]; interfaces: string[] };
  return { item: item.called === undefined ? report.id : `${report.id}#${item.called}`, nodes: [], digest: report.digest, signers: report.keys.map(({ name }) => name), interfaces: report.interfaces, folders };
}
