// Replays the run of a file with the contents of the bundle.

import { readArchive, storedOf, type Archive } from "./archive";
import type { Bundle } from "./bundle";
import { DISPOSE } from "./interfaces/streams";
import { members, object, string } from "./json";
import type { Performer } from "./performer";
import { drive, type ReplayedStep } from "./replay";
import { RefusedInput } from "./verify";
import type { Replay, Walker } from "./walker";

export interface ReplaySummary {
  run: string;
  supersteps: number;
  attempts: number;
  cached: number;
  entries: number;
  /** The first difference in the words of the command line. */
  message?: string;
  /** Components and engines that differ from those of the run, a line each. */
  changes: string[];
}

interface BundledRun {
  bundle: Bundle;
  walker: Walker;
  performer: Performer;
}

interface Observer {
  began(run: string, key: string): void;
  step(step: ReplayedStep): void;
}

/** The pins of a run that a page can compare. */
interface Pins {
  engine: string;
  manifest: string;
  components: Record<string, string>;
  hooks_text?: string;
}

/** What a checkpoint says of its run. */
interface Place {
  namespace: string;
  graph: string;
  pins: string;
}

/** Differences of a bundle from the pins of a run, a line each, in the words of the command line. */
interface Changes {
  /** Of what a native replay takes from the record, and a page from its bundle: such a run is not replayed. */
  refused: string[];
  /** Of components and engines: the run is replayed with those of the bundle. */
  replayed: string[];
}

const short = (digest: string): string => digest.replace(/^sha256:/, "").slice(0, 12);

function graphDigest({ walker }: BundledRun, { name, id, text }: Bundle["graph"]): string {
  const report = JSON.parse(walker.documents.checkGraph(name, id, text)) as { graph?: { digest: string } };
  return report.graph?.digest ?? "";
}

function placesOf({ records }: Archive): Place[] {
  const checkpoints = records.filter(({ kind }) => kind === "checkpoint");
  return checkpoints.map(({ namespace, body }) => {
    const { graph, pins } = JSON.parse(body) as { graph: string; pins: string };
    return { namespace, graph, pins };
  });
}

function checkGraphs(of: BundledRun, { run, row }: Archive, places: Place[]): void {
  const { graph, graphs } = of.bundle;
  const own = graphDigest(of, graph);
  const known = new Set(graphs.map((one) => graphDigest(of, one)));
  for (const { namespace, graph: ran } of places) {
    if (namespace === "" && ran !== own) {
      const id = string(row.get("graph_id"));
      throw new RefusedInput(
        `run ${run} is of another graph: it ran \`${id}\` (${short(ran)}), and this bundle has \`${graph.id}\` (${short(own)})\nreplay it in a bundle of its graph`,
      );
    }
    if (namespace !== "" && !known.has(ran)) {
      throw new RefusedInput(`the child run ${namespace} of run ${run} is of a graph (${short(ran)}) that this bundle does not have`);
    }
  }
}

function addChanges({ bundle, walker }: BundledRun, before: Pins, { refused, replayed }: Changes): void {
  const kept = bundle.texts?.map((one) => one as { digest: string; text: string }).find(({ digest }) => digest === bundle.pins);
  const now = kept && (JSON.parse(kept.text) as Pins);
  const components = new Map(bundle.components.map(({ item, digest }) => [item, digest]));
  for (const [id, digest] of Object.entries(before.components)) {
    const found = components.get(id);
    if (found === undefined) replayed.push(`component \`${id}\` (${short(digest)}) was removed`);
    else if (found !== digest) replayed.push(`component \`${id}\` was ${short(digest)} and is ${short(found)}`);
  }
  const manifest = now?.manifest ?? walker.digests.ofManifest(bundle.manifest.name, bundle.manifest.folder, bundle.manifest.text);
  if (before.manifest !== manifest) refused.push(`the manifest was ${short(before.manifest)} and is ${short(manifest)}`);
  if (now && before.hooks_text !== now.hooks_text) refused.push("the hooks of the project or the user have changed");
  if (before.engine !== bundle.engine) {
    replayed.push(`the engine was ${short(before.engine)} and is ${short(bundle.engine)}: results and fuel may differ`);
  }
}

function changesOf(of: BundledRun, { texts }: Archive, places: Place[]): Changes {
  const changes: Changes = { refused: [], replayed: [] };
  for (const digest of new Set(places.filter(({ namespace }) => namespace === "").map(({ pins }) => pins))) {
    const text = texts.get(digest);
    if (text === undefined) changes.refused.push("what it is pinned to is missing from the file");
    else addChanges(of, JSON.parse(text) as Pins, changes);
  }
  return { refused: [...new Set(changes.refused)], replayed: [...new Set(changes.replayed)] };
}

function changed(run: string, changes: string[]): RefusedInput {
  const lines = changes.map((change) => `\n- ${change}`).join("");
  return new RefusedInput(`run ${run} is replayed with something else than it ran with:${lines}\nreplay it in a bundle of what it ran with`);
}

/** Returns the setup of a run, without the fields that its checkpoints define. */
function setupOf(bundle: Bundle, { run, row, key }: Archive): string {
  const root = string(row.get("root_id"));
  const [parent, maxSteps] = [row.get("parent_id"), row.get("max_steps")];
  return object({
    version: "1",
    run: JSON.stringify(run),
    root: root === run ? undefined : JSON.stringify(root),
    parent: parent === "null" ? undefined : parent,
    graph: JSON.stringify(bundle.graph),
    graphs: JSON.stringify(bundle.graphs),
    hooks: JSON.stringify(bundle.hooks ?? {}),
    manifest: JSON.stringify(bundle.manifest),
    durability: row.get("durability"),
    max_steps: maxSteps === "null" ? undefined : maxSteps,
    // A replay stores nothing, so that nothing is signed with it.
    key: JSON.stringify("00".repeat(32)),
    stored_by: JSON.stringify(key),
  });
}

/** Reads, verifies and replays a run. An invalid file is refused before anything is executed. */
export async function replayFile(bytes: Uint8Array, of: BundledRun, observer: Observer): Promise<ReplaySummary> {
  const archive = await readArchive(bytes);
  const { run } = archive;
  if (archive.pruned) {
    throw new RefusedInput(
      `run ${run} cannot be replayed in a page: its first checkpoints were removed\nreplay it with \`graph-host runs import\` and \`graph-host replay\``,
    );
  }
  const replay = of.walker.replays.Replay.open(setupOf(of.bundle, archive), storedOf(archive));
  try {
    return await replayed(replay, archive, of, observer);
  } finally {
    replay[DISPOSE]();
  }
}

/** Replays a verified run, if the bundle is of its graphs. */
async function replayed(replay: Replay, archive: Archive, of: BundledRun, observer: Observer): Promise<ReplaySummary> {
  const { run } = archive;
  const { bundle, performer } = of;
  const places = placesOf(archive);
  checkGraphs(of, archive, places);
  const changes = changesOf(of, archive, places);
  if (changes.refused.length > 0) throw changed(run, [...changes.refused, ...changes.replayed]);
  observer.began(run, archive.keyId);
  let supersteps = 0;
  const done = await drive(replay, {
    engine: bundle.engine,
    onReplayed: (step) => {
      if (step.made === "superstep") supersteps += 1;
      observer.step(step);
    },
    performerOf: (step) => performer.performerOf(step),
    perform: async (step, played) => {
      const activation = members(step.get("activation") ?? "{}");
      const name = `${activation.get("task")} ${activation.get("attempt")}`;
      const report = await performer.perform(step, activation, name, { replay, played });
      return report ?? object({ failure: JSON.stringify({ category: "internal", message: "the attempt was given up" }), fuel: "0" });
    },
  });
  if (done.message === null && changes.replayed.length > 0) throw changed(run, changes.replayed);
  const { attempts, cached, entries, message } = done;
  return { run, supersteps, attempts, cached, entries, changes: changes.replayed, ...(message === null ? {} : { message }) };
}
