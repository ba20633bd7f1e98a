// The worker that holds the walker: it loads a bundle, plans, and drives runs. The page only shows what it tells.

import { missing, read, type Bundle } from "./bundle";
import { Driver, type Checkpoint } from "./driver";
import { Performer, type Item } from "./performer";
import { Pool } from "./pool";
import type { LoadedComponent, LogLine, Setup } from "./protocol";
import type { Replayed } from "./replay";
import { replayFile, type ReplaySummary } from "./replay_file";
import { Store } from "./store";
import { open, Refused, type Key, type Opened } from "./verify";
import { exported, privateKey } from "./export";
import { load, words, type Cores, type Run, type Walker } from "./walker";
import { members, object } from "./json";

/** What the page asks for. Values of the graph are JSON texts. */
export type Wish =
  | { wish: "open"; base: string }
  | { wish: "grant"; folder: string; files: [string, File][] }
  | { wish: "run"; run: string; inputs: string }
  | { wish: "continue"; run: string }
  | { wish: "answer"; answers: Record<string, string> }
  | { wish: "cancel" }
  | { wish: "export"; run: string }
  | { wish: "key" }
  | { wish: "verify"; run: string }
  | { wish: "replay"; file?: File }
  | { wish: "remove"; run: string };

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
  /** What the page cannot check, though the command line can. */
  unchecked: string[];
  /** Folders that the person has to choose. */
  folders: string[];
  items: PlannedItem[];
  problems: string[];
  /** The bundle has a run to replay. */
  replayable: boolean;
  inputsSchema: string;
  exampleInputs: string;
}

/** A notice of the walker, or a line that a component logged. */
export type Step = { notice: string } | { node: string; line: LogLine };

/** What the page is told. */
export type News =
  | { news: "opened"; plan: Plan; runs: { run: string; status: string }[] }
  | { news: "refused"; message: string }
  | { news: "steps"; steps: Step[] }
  | { news: "checkpoint"; checkpoint: Checkpoint }
  | { news: "stopped"; run: string; status: string; summary: string }
  | { news: "exported"; name: string; text: string }
  | { news: "verified"; records: number }
  | { news: "replaying"; run: string; key: string }
  | { news: "replayed"; step: Replayed }
  | { news: "replay ended"; summary: ReplaySummary }
  | { news: "removed"; runs: { run: string; status: string }[] };

/** Steps are told together, so that many of them do not keep the page from drawing. */
const TOGETHER = 50;
let steps: Step[] = [];

function tellSteps(): void {
  if (steps.length > 0) postMessage({ news: "steps", steps } satisfies News);
  steps = [];
}

function tellStep(step: Step): void {
  if (steps.push(step) === 1) setTimeout(tellSteps, TOGETHER);
}

function tell(news: News): void {
  tellSteps();
  postMessage(news);
}

interface Loaded {
  /** The run that is in the bundle, as it was exported. */
  packed: Uint8Array<ArrayBuffer>;
  setup: Setup;
  bundle: Bundle;
  walker: Walker;
  items: Map<string, Item>;
  pool: Pool | undefined;
  store: Store;
  plan: Plan;
}

let loaded: Loaded | undefined;
let driver: { run: string; driver: Driver } | undefined;

const text = (bytes: Uint8Array): string => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

async function compile(opened: Opened, folder: string, names: string[]): Promise<Cores> {
  const each = names.map(async (name) => {
    const bytes = await opened.read(folder + name);
    try {
      return [name, await WebAssembly.compile(bytes)] as const;
    } catch (error) {
      throw new Refused(`\`${folder}${name}\` does not run in this browser: ${words(error)}`);
    }
  });
  return Object.fromEntries(await Promise.all(each));
}

async function loadWalker(opened: Opened, base: string): Promise<Setup["walker"]> {
  const folder = "assets/";
  await opened.read(`${folder}walker.js`);
  const names = opened.paths.filter((path) => /^assets\/walker\.core\d*\.wasm$/.test(path)).map((path) => path.slice(folder.length));
  return { url: new URL(`${folder}walker.js`, base).href, cores: await compile(opened, folder, names) };
}

async function openBundle(base: string): Promise<Loaded> {
  const opened = await open(base);
  // The page itself is looked at, too, though one that was changed could leave that out.
  await Promise.all(["index.html", "assets/page.js", "assets/page.css", "assets/worker.js"].map((path) => opened.read(path)));
  const walkerSetup = await loadWalker(opened, base);
  const walker = await (await load<Walker>(walkerSetup.url, walkerSetup.cores))({});
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
      if (report.digest !== bundled.digest) throw new Refused(`\`${bundled.item}\` is ${report.digest}, and bundle.json names ${bundled.digest}`);
      items.set(bundled.item, { bundled, verified, notAfter: report.not_after ?? undefined, again: (recorded) => void verify(recorded) });
    } catch (error) {
      problems.push(words(error));
      continue;
    }
    const lacking = missing(bundled.imports);
    if (lacking.length > 0) {
      problems.push(`\`${bundled.item}\` needs ${lacking.map((name) => `\`${name}\``).join(", ")}, which a page cannot give`);
      continue;
    }
    if (components.has(bundled.digest)) continue;
    await opened.read(`${bundled.path}/component.js`);
    const cores = await compile(opened, `${bundled.path}/`, bundled.cores);
    const url = new URL(`${bundled.path}/component.js`, base).href;
    components.set(bundled.digest, { digest: bundled.digest, url, cores, pages: bundled.memory.pages });
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
  const plan = planOf(bundle, walker, items, problems, opened);
  const setup: Setup = { walker: walkerSetup, components: [...components.values()], files, empty };
  const opening: Loaded = { packed, bundle, walker, items, setup, pool: undefined, store: await Store.open(), plan };
  // Its workers load what they need, so that a run needs no network any more.
  if (problems.length === 0 && plan.folders.length === 0) await poolOf(opening);
  return opening;
}

async function poolOf(of: Loaded): Promise<Pool> {
  of.pool ??= await Pool.of(of.setup, Math.min(Math.max(navigator.hardwareConcurrency, 1), 4));
  return of.pool;
}

/** Takes the files of a folder that the person has chosen. */
async function grantFolder(of: Loaded, folder: string, files: [string, File][]): Promise<void> {
  for (const [path, file] of files) of.setup.files.set(`${folder.replace(/\/$/, "")}/${path}`, file);
  of.plan.folders = of.plan.folders.filter((one) => one !== folder);
  if (of.plan.folders.length === 0) await poolOf(of);
  tell({ news: "opened", plan: of.plan, runs: await runsOf(of) });
}

interface GraphReport {
  ok: boolean;
  problems: { message: string }[];
  graph?: { description?: string; nodes: { name: string; action?: { primary: string; item_type: string; item_id: string } | null }[] };
}

function planOf(bundle: Bundle, walker: Walker, items: Map<string, Item>, problems: string[], opened: Opened): Plan {
  const planned = new Map<string, PlannedItem>();
  let description = "";
  for (const { name, id, text: graph } of [bundle.graph, ...bundle.graphs]) {
    const report = JSON.parse(walker.documents.checkGraph(name, id, graph)) as GraphReport;
    if (!report.ok) problems.push(...report.problems.map(({ message }) => message));
    if (id === bundle.graph.id) description = report.graph?.description ?? "";
    for (const node of report.graph?.nodes ?? []) {
      const action = node.action;
      if (!action || action.item_id.includes("${")) continue;
      if (bundle.graphs.some((graph) => graph.id === action.item_id)) continue;
      if (action.primary !== "execute") {
        problems.push(`node \`${node.name}\` would \`${action.primary}\` an item, which a page cannot do`);
        continue;
      }
      const item = items.get(action.item_id);
      if (!item) {
        if (!bundle.components.some(({ item: known }) => known === action.item_id)) problems.push(`\`${action.item_id}\` is not in the bundle`);
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
  return {
    graph: bundle.graph.id,
    description,
    key: opened.key,
    files: opened.paths.length,
    unchecked: bundle.missing_checks.map(({ node, message }) => `node \`${node}\`: ${message}`),
    folders: bundle.folders.filter(({ packed }) => !packed).map(({ host }) => host),
    items: [...planned.values()],
    problems: [...new Set(problems)],
    replayable: bundle.export !== undefined,
    inputsSchema: JSON.stringify(bundle.inputs_schema ?? null),
    exampleInputs: JSON.stringify(bundle.example_inputs ?? {}),
  };
}

function entryOf(item: Item, folders: string[]): PlannedItem {
  const report = JSON.parse(item.verified.report()) as { id: string; digest: string; keys: { name: string }[]; interfaces: string[] };
  return { item: report.id, nodes: [], digest: report.digest, signers: report.keys.map(({ name }) => name), interfaces: report.interfaces, folders };
}

async function setupOf(of: Loaded, run: string, inputs: string): Promise<string> {
  const { bundle } = of;
  return object({
    version: "1",
    run: JSON.stringify(run),
    graph: JSON.stringify(bundle.graph),
    graphs: JSON.stringify(bundle.graphs),
    hooks: JSON.stringify(bundle.hooks ?? {}),
    inputs,
    manifest: JSON.stringify(bundle.manifest),
    pins: bundle.pins && JSON.stringify(bundle.pins),
    key: JSON.stringify(await of.store.key()),
  });
}

async function driverOf(of: Loaded, run: string, begun: Run): Promise<Driver> {
  const performer = new Performer(await poolOf(of), of.items, (node, line) => tellStep({ node, line }));
  const observer = {
    notice: (notice: string): void => tellStep({ notice }),
    checkpoint: (checkpoint: Checkpoint): void => tell({ news: "checkpoint", checkpoint }),
  };
  return new Driver(begun, run, of.store, performer, observer);
}

async function drive(of: Loaded, run: string, begun: Run, first: string): Promise<void> {
  driver = { run, driver: await driverOf(of, run, begun) };
  await go(of, first);
}

async function go(of: Loaded, event: string): Promise<void> {
  if (!driver) throw new Refused("no run is open in this page");
  const { run, driver: current } = driver;
  const status = await current.drive(event);
  const known = (await of.store.runs()).find((one) => one.run === run);
  if (known) await of.store.begin({ ...known, status });
  tell({ news: "stopped", run, status, summary: current.run.summary() });
}

function checkReady(of: Loaded): void {
  if (of.plan.problems.length > 0) throw new Refused(of.plan.problems.join("\n"));
  if (of.plan.folders.length > 0) throw new Refused("choose the folders that the components are to read first");
}

/** Replays the run that is in the bundle, or one of a file. */
async function replayOf(of: Loaded, file: File | undefined): Promise<void> {
  checkReady(of);
  if (file === undefined && of.bundle.export === undefined) throw new Refused("there is no run in this bundle: choose a file");
  const bytes = file ? new Uint8Array(await file.arrayBuffer()) : of.packed;
  const performer = new Performer(await poolOf(of), of.items, () => undefined);
  const summary = await replayFile(bytes, { ...of, performer }, {
    began: (run, key) => tell({ news: "replaying", run, key }),
    step: (step) => tell({ news: "replayed", step }),
  });
  tell({ news: "replay ended", summary });
}

async function begin(of: Loaded, run: string, given: string): Promise<void> {
  checkReady(of);
  const { name, id, text: graph } = of.bundle.graph;
  const inputs = of.walker.documents.checkInputs(name, id, graph, given);
  if ((await of.store.runs()).some((one) => one.run === run)) throw new Refused(`there is a run \`${run}\` in this page already: choose another name`);
  const setup = await setupOf(of, run, inputs);
  const begun = of.walker.runs.Run.start(setup);
  await of.store.begin({ run, graph: id, setup, status: "running" });
  await drive(of, run, begun, '{"event":"started"}');
}

async function storedOf(of: Loaded, run: string): Promise<string> {
  const persisted = await of.store.persisted(run);
  const texts = persisted.flatMap(({ text: one }) => (one === undefined ? [] : [one]));
  return `{"records":[${persisted.map(({ record }) => record).join(",\n")}],"texts":[${texts.join(",\n")}]}`;
}

async function runsOf(of: Loaded): Promise<{ run: string; status: string }[]> {
  const runs = (await of.store.runs()).filter(({ graph }) => graph === of.bundle.graph.id);
  return runs.map(({ run, status }) => ({ run, status }));
}

/** Reads a stored run as `restore` does: every signature, link and digest is checked. */
async function verify(of: Loaded, run: string): Promise<void> {
  const known = (await of.store.runs()).find((one) => one.run === run);
  if (!known) throw new Refused(`there is no run \`${run}\` in this page`);
  of.walker.runs.Run.restore(known.setup, await storedOf(of, run));
  tell({ news: "verified", records: (await of.store.persisted(run)).length });
}

async function exportOf(of: Loaded, run: string): Promise<string> {
  const known = (await of.store.runs()).find((one) => one.run === run);
  if (!known) throw new Refused(`there is no run \`${run}\` in this page`);
  const { name, id, text: graph } = of.bundle.graph;
  const report = JSON.parse(of.walker.documents.checkGraph(name, id, graph)) as { graph: { durability: string } };
  const { bundle } = of;
  return exported({
    run,
    seed: await of.store.key(),
    bundle,
    manifest: of.walker.digests.ofManifest(bundle.manifest.name, bundle.manifest.folder, bundle.manifest.text),
    durability: report.graph.durability,
    summary: of.walker.runs.Run.restore(known.setup, await storedOf(of, run)).summary(),
    inputs: of.walker.digests.canonical(members(known.setup).get("inputs") ?? "{}"),
    persisted: await of.store.persisted(run),
  });
}

async function restore(of: Loaded, run: string): Promise<void> {
  const known = (await of.store.runs()).find((one) => one.run === run);
  if (!known) throw new Refused(`there is no run \`${run}\` in this page`);
  const restored = of.walker.runs.Run.restore(known.setup, await storedOf(of, run));
  for (const { checkpoint } of await of.store.persisted(run)) if (checkpoint) tell({ news: "checkpoint", checkpoint });
  const summary = JSON.parse(restored.summary()) as { status: string; interrupts: unknown[] };
  if (summary.status !== "completed" && summary.interrupts.length === 0) return drive(of, run, restored, '{"event":"resumed"}');
  // It waits for answers, or has ended: there is something to show, and nothing to do yet.
  driver = { run, driver: await driverOf(of, run, restored) };
  tell({ news: "stopped", run, status: summary.status, summary: restored.summary() });
}

async function grantWish(wish: Wish): Promise<void> {
  if (wish.wish === "open") {
    loaded = await openBundle(wish.base);
    tell({ news: "opened", plan: loaded.plan, runs: await runsOf(loaded) });
    return;
  }
  if (!loaded) throw new Refused("the bundle is not open");
  switch (wish.wish) {
    case "grant":
      return grantFolder(loaded, wish.folder, wish.files);
    case "run":
      return begin(loaded, wish.run, wish.inputs);
    case "continue":
      return restore(loaded, wish.run);
    case "answer": {
      const answers = object(wish.answers);
      return go(loaded, object({ event: '"resumed"', answers }));
    }
    case "cancel":
      driver?.driver.urgent('{"event":"cancel_requested"}');
      return;
    case "export":
      tell({ news: "exported", name: `${wish.run}.jsonl`, text: await exportOf(loaded, wish.run) });
      return;
    case "key":
      tell({ news: "exported", name: "page-key.pem", text: privateKey(await loaded.store.key()) });
      return;
    case "verify":
      return verify(loaded, wish.run);
    case "replay":
      return replayOf(loaded, wish.file);
    case "remove":
      await loaded.store.remove(wish.run);
      tell({ news: "removed", runs: await runsOf(loaded) });
      return;
  }
}

export function listen(first: Wish): void {
  const grantOrSay = async (wish: Wish): Promise<void> => {
    try {
      await grantWish(wish);
    } catch (error) {
      tell({ news: "refused", message: words(error) });
    }
  };
  onmessage = ({ data }: MessageEvent<Wish>) => void grantOrSay(data);
  void grantOrSay(first);
}

