// Runs that are replayed with other components than they were made with: the page and the command line say the same.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { choose, opened, recorded, replayed } from "./check_replay.mjs";
import { crafted, note } from "./crafted.mjs";
import { EXAMPLES } from "./examples.mjs";
import { bundleGraph } from "./prepare.mjs";

const HEAD = 'version: "1"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: Is replayed with other components\n';

/** Puts a text in place of one of the same length. */
const text = (before, after) => (bytes) => {
  assert.equal(before.length, after.length);
  const all = bytes.toString("latin1");
  assert.ok(all.includes(before), `the component has \`${before}\``);
  return Buffer.from(all.replaceAll(before, after), "latin1");
};

/** Takes another component of the examples. */
const component = (path) => (_, { tree }) => readFileSync(join(tree, "examples", `${path}.wasm`));

/** Takes one that answers with a text, and makes no calls; it grows as `grow` says. */
const grown = (grow) => (_, { root }) => crafted(root, { grow });

const TESTKIT = "nodes/.ai/tools/examples/testkit";
const node = (params, more = "") => `{ action: { item_id: examples/testkit, params: ${params} }, assign: { ${more} } }`;

/** Runs, and the components of them that are changed. `graph` is of a graph of the test; others are examples. `finds` is in the first difference. */
const CASES = {
  "a text of its result": { name: "negotiation", change: { ".ai/tools/examples/negotiate": text(" offers ", " OFFERS ") }, finds: /key `state\.transcript/ },
  "the result of a child run": { name: "nested-graphs", change: { ".ai/tools/examples/review-source": component(".ai/tools/examples/describe-source") }, finds: /of the child run / },
  "calls that it does not make": { name: "approval", change: { "approval/.ai/tools/examples/draft": grown([]) }, finds: /key `journal`/ },
  "a question that it does not ask": { name: "approval", change: { "approval/.ai/tools/examples/ask": grown([]) }, finds: /step 2, task 2\.0 \(node `ask`\)/ },
  "a superstep after many tasks": { name: "map-reduce", change: { ".ai/tools/examples/rows": grown([]) }, finds: /node `reduce`/ },
  "the component of the last superstep": { name: "project-stats", change: { "project-stats/.ai/tools/examples/summarise": grown([["memory", 1]]) }, finds: /node `summar/ },
  "fuel alone": {
    graph: `config:\n  start: a\n  nodes:\n    a: { action: { item_id: examples/grows }, assign: { x: 1 }, next: b }\n    b: { action: { item_id: examples/grows }, assign: { y: 2 } }\n`,
    before: { "nodes/.ai/tools/examples/grows": grown([]) },
    change: { "nodes/.ai/tools/examples/grows": grown([["memory", 1]]) },
    finds: /key `fuel`/,
  },
  "a cached result": {
    graph: `config:\n  start: a\n  nodes:\n    a: { action: { item_id: examples/testkit, params: { op: echo, value: 1 } }, cache: { ttl: 1h }, next: b }\n    b: { action: { item_id: examples/testkit, params: { op: echo, value: 1 } }, cache: { ttl: 1h } }\n`,
    change: { [TESTKIT]: note },
    finds: /key `cached`/,
  },
  "nothing of the result": { name: "etl", change: { ".ai/tools/examples/rows": note } },
};

/** A line about a component, without the nodes that use it: the page does not name them. */
export const withoutNodes = (line) => line.replace(/ of nodes? `.*?`(?= was | \()/, "");

/** Writes a component without a signature. */
function write(given, path, make) {
  const file = join(given.tree, "examples", `${path}.wasm`);
  let before;
  try {
    before = readFileSync(file);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  writeFileSync(file, make(before, given));
  rmSync(`${file}.dsse.json`, { force: true });
}

/** Removes the signatures of all components, so that each of them may be changed. */
function unsign(tree) {
  const all = readdirSync(join(tree, "examples"), { recursive: true });
  for (const path of all) if (path.endsWith(".wasm.dsse.json")) rmSync(join(tree, "examples", path));
}

/** Replays with changed components, natively and in the page: the same differences, and the same lines about what has changed. */
export async function changed(given) {
  const { native, browser, tree, scratch, root } = given;
  unsign(tree);
  const original = join(scratch, "unsigned");
  rmSync(original, { recursive: true, force: true });
  cpSync(tree, original, { recursive: true });
  const told = [];
  for (const [number, [what, { name, graph, before = {}, change, finds }]] of Object.entries(CASES).entries()) {
    rmSync(tree, { recursive: true });
    cpSync(original, tree, { recursive: true });
    const folder = join(tree, "examples", name ?? "nodes");
    const file = name ? "graph.yaml" : "changed.yaml";
    if (graph) writeFileSync(join(folder, file), HEAD + graph);
    if (graph) writeFileSync(join(folder, "changed.caps.yaml"), "dispatch: ['execute.tool.examples.*']\n");
    const files = { graph: join(folder, file), caps: join(folder, graph ? "changed.caps.yaml" : "caps.yaml") };
    for (const [path, make] of Object.entries(before)) write(given, path, make);
    const run = `changed-${number}`;
    const { inputs = {}, suspensions = [] } = EXAMPLES.find((one) => one.name === name) ?? {};
    native.run(run, { ...files, inputs, suspensions, more: ["--allow-unsigned"] });
    const exported = join(scratch, `${run}.jsonl`);
    native.call([0], "runs", "export", run, "--output", exported);
    for (const [path, make] of Object.entries(change)) write(given, path, make);

    const { error } = JSON.parse(native.call([8], "replay", run, "--json").stdout);
    const { differences = [], changes } = error;
    assert.ok(changes.length > 0, `${what}: ${error.message}`);
    const site = join(scratch, "packed", run);
    bundleGraph(site, files, { native, assets: join(root, "host/bundle/assets"), more: ["--allow-unsigned"] });
    const page = await opened(browser, site);
    const { said, message, rows } = await replayed(page, choose(page, exported));
    await page.close();
    if (!finds) {
      assert.deepEqual(differences, [], what);
      assert.equal(said, "", what);
      const lines = error.message.split("\n").map(withoutNodes);
      assert.deepEqual(message.split("\n").slice(0, lines.length), lines, what);
    } else {
      assert.match(error.message, finds, what);
      assert.equal(message, "", what);
      assert.deepEqual(said.split("\n"), [error.message, ...changes.map(withoutNodes)], what);
      assert.ok(rows.some((row) => row.at(-1) === "different") || differences.some(({ key }) => ["journal", "outcome"].includes(key)), what);
    }
    told.push(`${what}: ${error.message}`);
  }
  console.log(`${told.length} runs with changed components, in the words of the command line:\n  ${told.join("\n  ")}`);
}
