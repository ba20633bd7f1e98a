// The worker with the walker: it loads a bundle, plans, and drives runs. The page only shows its messages.

import { Driver, type Checkpoint } from "./driver";
import type { FetchMessage, FetchOutcome } from "./worker_fetch";
import { openBundle, poolOf, type OpenBundle, type Plan } from "./opening";
import { Performer } from "./performer";
import type { LogLine } from "./protocol";
import type { ReplayedStep } from "./replay";
import { replayFile, type ReplaySummary } from "./replay_file";
import { RefusedInput } from "./verify";
import { exported, privateKey, publicKey } from "./export";
import { words, type Run } from "./walker";
import { members, object } from "./json";

/** Requests of the page. Values of the graph are JSON texts. */
export type PageRequest =
  | { wish: "open"; base: string }
  | { wish: "grant"; folder: string; files: [string, File][] }
  | { wish: "secret"; name: string; value: string }
  | FetchOutcome
  | { wish: "run"; run: string; inputs: string }
  | { wish: "continue"; run: string }
  | { wish: "answer"; answers: Record<string, string> }
  | { wish: "cancel" }
  | { wish: "export"; run: string }
  | { wish: "key" }
  | { wish: "verify"; run: string }
  | { wish: "replay"; file?: File }
  | { wish: "remove"; run: string };

/** A notice of the walker, or a line that a component logged. */
export type Step = { notice: string } | { node: string; line: LogLine };

/** Messages to the page. */
export type WorkerMessage =
  | { news: "opened"; plan: Plan; runs: { run: string; status: string }[] }
  | FetchMessage
  | { news: "refused"; message: string }
  | { news: "steps"; steps: Step[] }
  | { news: "checkpoint"; checkpoint: Checkpoint }
  | { news: "stopped"; run: string; status: string; summary: string }
  | { news: "exported"; name: string; text: string }
  | { news: "verified"; records: number }
  | { news: "replaying"; run: string; key: string }
  | { news: "replayed"; step: ReplayedStep }
  | { news: "replay ended"; summary: ReplaySummary }
  | { news: "removed"; runs: { run: string; status: string }[] };

/** Milliseconds for which steps are collected, so that many of them do not keep the page from drawing. */
const TOGETHER = 50;
let steps: Step[] = [];

function dispatchSteps(): void {
  if (steps.length > 0) postMessage({ news: "steps", steps } satisfies WorkerMessage);
  steps = [];
}

function dispatchStep(step: Step): void {
  if (steps.push(step) === 1) setTimeout(dispatchSteps, TOGETHER);
}

function dispatch(message: WorkerMessage): void {
  dispatchSteps();
  postMessage(message);
}

let loaded: OpenBundle | undefined;
let driver: { run: string; driver: Driver } | undefined;

/** Adds the files of a folder that the user has chosen. */
async function grantFolder(of: OpenBundle, folder: string, files: [string, File][]): Promise<void> {
  for (const [path, file] of files) of.setup.files.set(`${folder.replace(/\/$/, "")}/${path}`, file);
  of.plan.folders = of.plan.folders.filter((one) => one !== folder);
  if (of.plan.folders.length === 0) await poolOf(of);
  dispatch({ news: "opened", plan: of.plan, runs: await runsOf(of) });
}

async function setupOf(of: OpenBundle, run: string, inputs: string): Promise<string> {
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

async function driverOf(of: OpenBundle, run: string, begun: Run): Promise<Driver> {
  const performer = new Performer(await poolOf(of), of.items, (node, line) => dispatchStep({ node, line }), of.services);
  const observer = {
    notice: (notice: string): void => dispatchStep({ notice }),
    checkpoint: (checkpoint: Checkpoint): void => dispatch({ news: "checkpoint", checkpoint }),
  };
  return new Driver(begun, run, of.store, performer, observer);
}

/** Refuses to start or resume a run without the values of its secrets, as the native host does. */
function checkSecrets(of: OpenBundle): void {
  const refusal = of.services.refusal(of.grants);
  if (refusal !== undefined) throw new RefusedInput(refusal);
}

async function drive(of: OpenBundle, run: string, begun: Run, first: string): Promise<void> {
  driver = { run, driver: await driverOf(of, run, begun) };
  await go(of, first);
}

async function go(of: OpenBundle, event: string): Promise<void> {
  if (!driver) throw new RefusedInput("no run is open in this page");
  const { run, driver: current } = driver;
  const status = await current.drive(event);
  const known = (await of.store.runs()).find((one) => one.run === run);
  if (known) await of.store.begin({ ...known, status });
  dispatch({ news: "stopped", run, status, summary: current.run.summary() });
}

function checkReady(of: OpenBundle): void {
  if (of.plan.problems.length > 0) throw new RefusedInput(of.plan.problems.join("\n"));
  if (of.plan.folders.length > 0) throw new RefusedInput("choose the folders that the components are to read first");
}

/** Replays the run in the bundle, or that of a file. */
async function replayOf(of: OpenBundle, file: File | undefined): Promise<void> {
  checkReady(of);
  if (file === undefined && of.bundle.export === undefined) throw new RefusedInput("there is no run in this bundle: choose a file");
  const bytes = file ? new Uint8Array(await file.arrayBuffer()) : of.packed;
  const performer = new Performer(await poolOf(of), of.items, () => undefined);
  const summary = await replayFile(bytes, { ...of, performer }, {
    began: (run, key) => dispatch({ news: "replaying", run, key }),
    step: (step) => dispatch({ news: "replayed", step }),
  });
  dispatch({ news: "replay ended", summary });
}

async function begin(of: OpenBundle, run: string, given: string): Promise<void> {
  checkReady(of);
  checkSecrets(of);
  const { name, id, text: graph } = of.bundle.graph;
  const inputs = of.walker.documents.checkInputs(name, id, graph, given);
  if ((await of.store.runs()).some((one) => one.run === run)) throw new RefusedInput(`there is a run \`${run}\` in this page already: choose another name`);
  const setup = await setupOf(of, run, inputs);
  const begun = of.walker.runs.Run.start(setup);
  await of.store.begin({ run, graph: id, setup, status: "running" });
  await drive(of, run, begun, '{"event":"started"}');
}

async function storedOf(of: OpenBundle, run: string): Promise<string> {
  const persisted = await of.store.persisted(run);
  const texts = persisted.flatMap(({ text: one }) => (one === undefined ? [] : [one]));
  return `{"records":[${persisted.map(({ record }) => record).join(",\n")}],"texts":[${texts.join(",\n")}]}`;
}

async function runsOf(of: OpenBundle): Promise<{ run: string; status: string }[]> {
  const runs = (await of.store.runs()).filter(({ graph }) => graph === of.bundle.graph.id);
  return runs.map(({ run, status }) => ({ run, status }));
}

/** Verifies every signature, link and digest of a stored run, in all namespaces. */
async function verify(of: OpenBundle, run: string): Promise<void> {
  const known = (await of.store.runs()).find((one) => one.run === run);
  if (!known) throw new RefusedInput(`there is no run \`${run}\` in this page`);
  of.walker.runs.Run.verify(run, await publicKey(await of.store.key()), await storedOf(of, run));
  dispatch({ news: "verified", records: (await of.store.persisted(run)).length });
}

async function exportOf(of: OpenBundle, run: string): Promise<string> {
  const known = (await of.store.runs()).find((one) => one.run === run);
  if (!known) throw new RefusedInput(`there is no run \`${run}\` in this page`);
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

async function restore(of: OpenBundle, run: string): Promise<void> {
  const known = (await of.store.runs()).find((one) => one.run === run);
  if (!known) throw new RefusedInput(`there is no run \`${run}\` in this page`);
  const restored = of.walker.runs.Run.restore(known.setup, await storedOf(of, run));
  for (const { checkpoint } of await of.store.persisted(run)) if (checkpoint) dispatch({ news: "checkpoint", checkpoint });
  const summary = JSON.parse(restored.summary()) as { status: string; interrupts: unknown[] };
  if (summary.status !== "completed" && summary.interrupts.length === 0) {
    checkSecrets(of);
    return drive(of, run, restored, '{"event":"resumed"}');
  }
  // The run waits for answers, or has ended: only its state is shown.
  driver = { run, driver: await driverOf(of, run, restored) };
  dispatch({ news: "stopped", run, status: summary.status, summary: restored.summary() });
}

async function performRequest(request: PageRequest): Promise<void> {
  if (request.wish === "open") {
    loaded = await openBundle(request.base, dispatch);
    dispatch({ news: "opened", plan: loaded.plan, runs: await runsOf(loaded) });
    return;
  }
  if (!loaded) throw new RefusedInput("the bundle is not open");
  switch (request.wish) {
    case "grant":
      return grantFolder(loaded, request.folder, request.files);
    case "secret":
      return loaded.services.setSecret(request.name, request.value);
    case "fetched":
      return loaded.fetches.fetched(request);
    case "run":
      return begin(loaded, request.run, request.inputs);
    case "continue":
      return restore(loaded, request.run);
    case "answer": {
      checkSecrets(loaded);
      const typed = JSON.stringify(request.answers);
      return go(loaded, object({ event: '"resumed"', typed }));
    }
    case "cancel":
      driver?.driver.dispatchFirst('{"event":"cancel_requested"}');
      return;
    case "export":
      dispatch({ news: "exported", name: `${request.run}.jsonl`, text: await exportOf(loaded, request.run) });
      return;
    case "key":
      dispatch({ news: "exported", name: "page-key.pem", text: privateKey(await loaded.store.key()) });
      return;
    case "verify":
      return verify(loaded, request.run);
    case "replay":
      return replayOf(loaded, request.file);
    case "remove":
      await loaded.store.remove(request.run);
      dispatch({ news: "removed", runs: await runsOf(loaded) });
      return;
  }
}

export function listen(first: PageRequest): void {
  const performOrRefuse = async (request: PageRequest): Promise<void> => {
    try {
      await performRequest(request);
    } catch (error) {
      dispatch({ news: "refused", message: words(error) });
    }
  };
  onmessage = ({ data }: MessageEvent<PageRequest>) => void performOrRefuse(data);
  void performOrRefuse(first);
}

