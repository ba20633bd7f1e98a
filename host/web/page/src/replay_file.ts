// Replays the run of a file with the contents of the bundle, which must be those that the run was made with.

import { readArchive, type Archive } from "./archive";
import type { Bundle } from "./bundle";
import { members, object } from "./json";
import type { Performer } from "./performer";
import { RecordedRun, string } from "./recorded";
import { messageOf, refusalOf, replay, type ReplayedStep } from "./replay";
import { RefusedInput } from "./verify";
import type { Walker } from "./walker";

export interface ReplaySummary {
  run: string;
  supersteps: number;
  attempts: number;
  entries: number;
  /** Number of supersteps that differ; `message` has the first difference in the words of the command line. */
  differences: number;
  message?: string;
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

const short = (digest: string): string => digest.replace(/^sha256:/, "").slice(0, 12);

function graphDigest({ walker }: BundledRun, { name, id, text }: Bundle["graph"]): string {
  const report = JSON.parse(walker.documents.checkGraph(name, id, text)) as { graph?: { digest: string } };
  return report.graph?.digest ?? "";
}

function checkGraphs(of: BundledRun, { run, row }: Archive, recorded: RecordedRun): void {
  const { graph, graphs } = of.bundle;
  const own = graphDigest(of, graph);
  const id = string(row.get("graph_id"));
  const other = recorded.line("").find(({ fields }) => string(fields.get("graph")) !== own);
  if (other) {
    const ran = string(other.fields.get("graph"));
    throw new RefusedInput(
      `run ${run} is of another graph: it ran \`${id}\` (${short(ran)}), and this bundle has \`${graph.id}\` (${short(own)})\nreplay it in a bundle of its graph`,
    );
  }
  const known = new Set(graphs.map((one) => graphDigest(of, one)));
  for (const namespace of recorded.namespaces().filter((name) => name !== "")) {
    const ran = string(recorded.line(namespace)[0]?.fields.get("graph"));
    if (!known.has(ran)) throw new RefusedInput(`the child run ${namespace} of run ${run} is of a graph (${short(ran)}) that this bundle does not have`);
  }
}

/** Lists the pins of the run that differ from the bundle, a line each, in the words of the command line. */
function changesOf(of: BundledRun, { texts }: Archive, recorded: RecordedRun): string[] {
  const text = texts.get(string(recorded.line("")[0]?.fields.get("pins")));
  if (text === undefined) return ["what it is pinned to is missing from the file"];
  const before = JSON.parse(text) as Pins;
  const { bundle, walker } = of;
  const kept = bundle.texts?.map((one) => one as { digest: string; text: string }).find(({ digest }) => digest === bundle.pins);
  const now = kept && (JSON.parse(kept.text) as Pins);
  const lines: string[] = [];
  const components = new Map(bundle.components.map(({ item, digest }) => [item, digest]));
  for (const [id, digest] of Object.entries(before.components)) {
    const found = components.get(id);
    if (found === undefined) lines.push(`component \`${id}\` (${short(digest)}) was removed`);
    else if (found !== digest) lines.push(`component \`${id}\` was ${short(digest)} and is ${short(found)}`);
  }
  const manifest = now?.manifest ?? walker.digests.ofManifest(bundle.manifest.name, bundle.manifest.folder, bundle.manifest.text);
  if (before.manifest !== manifest) lines.push(`the manifest was ${short(before.manifest)} and is ${short(manifest)}`);
  if (now && before.hooks_text !== now.hooks_text) lines.push("the hooks of the project or the user have changed");
  if (before.engine !== bundle.engine) {
    lines.push(`the engine was ${short(before.engine)} and is ${short(bundle.engine)}: results and fuel may differ`);
  }
  return lines;
}

function setupOf(bundle: Bundle, { run, row }: Archive): Record<string, string | undefined> {
  const root = string(row.get("root_id"));
  const parent = row.get("parent_id");
  // Records of a replay are dropped: they are signed with a random key.
  const key = Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return {
    version: "1",
    root: root === run ? undefined : JSON.stringify(root),
    parent: parent === "null" ? undefined : parent,
    graph: JSON.stringify(bundle.graph),
    graphs: JSON.stringify(bundle.graphs),
    hooks: JSON.stringify(bundle.hooks ?? {}),
    manifest: JSON.stringify(bundle.manifest),
    key: JSON.stringify(key),
  };
}

/** Reads, verifies and replays a run. An invalid file is refused before anything is executed. */
export async function replayFile(bytes: Uint8Array, of: BundledRun, observer: Observer): Promise<ReplaySummary> {
  const archive = await readArchive(bytes, of.walker);
  const recorded = new RecordedRun(archive);
  checkGraphs(of, archive, recorded);
  const refusal = refusalOf(recorded);
  if (refusal !== undefined) throw new RefusedInput(refusal);
  const changes = changesOf(of, archive, recorded);
  if (changes.length > 0) {
    const lines = changes.map((change) => `\n- ${change}`).join("");
    throw new RefusedInput(`run ${archive.run} is replayed with something else than it ran with:${lines}\nreplay it in a bundle of what it ran with`);
  }
  observer.began(archive.run, archive.keyId);
  const done = await replay(archive, recorded, {
    walker: of.walker,
    setup: setupOf(of.bundle, archive),
    onReplayed: (step) => observer.step(step),
    perform: async (run, effect, played) => {
      const activation = members(effect.get("activation") ?? "{}");
      const name = `${activation.get("task")} ${activation.get("attempt")}`;
      const report = await of.performer.perform(run, effect, activation, name, { played });
      return report ?? object({ failure: JSON.stringify({ category: "internal", message: "the attempt was given up" }), fuel: "0" });
    },
  });
  const { run, supersteps, attempts, entries, differences } = done;
  const message = messageOf(done);
  return { run, supersteps, attempts, entries, differences: differences.length, ...(message === undefined ? {} : { message }) };
}
