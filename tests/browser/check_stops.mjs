// Runs that did not go straight to their end: child runs that reached their deadline, and changes that their host accepted. The page
// replays them as the command line does.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { withoutNodes } from "./check_changed.mjs";
import { choose, expectedOf, opened, replayed } from "./check_replay.mjs";
import { note } from "./crafted.mjs";
import { bundleGraph } from "./prepare.mjs";

const head = (category, id) => `version: "1"\ntool_type: graph\nexecutor_id: graph-host\ncategory: ${category}\ndescription: ${id}\n`;
const TRUST = ["--allow-unsigned"];

/** A project with the component of the tests, and a graph. */
function project(scratch, tree, name, { graph, below, caps }) {
  const folder = join(scratch, "stops", name);
  rmSync(folder, { recursive: true, force: true });
  const tools = join(folder, ".ai/tools/t");
  mkdirSync(tools, { recursive: true });
  cpSync(join(tree, "examples/nodes/.ai/tools/examples/testkit.wasm"), join(tools, "testkit.wasm"));
  if (below) writeFileSync(join(tools, "below.yaml"), head("t", "below") + below);
  const files = { graph: join(folder, "graph.yaml"), caps: join(folder, "caps.yaml") };
  writeFileSync(files.graph, head("tests", name) + graph);
  writeFileSync(files.caps, caps);
  return { folder, files };
}

const DISPATCH = "dispatch: ['execute.tool.t.*']\n";

/** Children that compute until they run out of time, the second one first. */
const LATE = {
  caps: `${DISPATCH}limits: { fuel: 10000000000000 }\n`,
  below: `config:\n  start: first\n  nodes:\n    first: { action: { item_id: t/testkit, params: { op: echo, value: 1 } }, next: slow }\n    slow: { action: { item_id: t/testkit, params: { op: spin, iterations: 1000000000000 } }, fuel: 10000000000000 }\n`,
  graph: `config:\n  start: [one, two]\n  nodes:\n    one: { action: { item_id: t/below }, timeout: 1200ms, on_error: end }\n    two: { action: { item_id: t/below }, timeout: 500ms, on_error: end }\n    end: { assign: { late: "\${state._last_error}" } }\n`,
};

/** A pause between two supersteps, in which the component is changed. */
const ACCEPTED = {
  caps: DISPATCH,
  graph: `config:\n  start: one\n  nodes:\n    one: { action: { item_id: t/testkit, params: { op: echo, value: 1 } }, assign: { one: "\${result}" }, next: two }\n    two: { interrupt: before, action: { item_id: t/testkit, params: { op: echo, value: 2 } }, assign: { two: "\${result}" } }\n`,
};

async function compared({ native, browser, scratch, root }, run, files) {
  const exported = join(scratch, `${run}.jsonl`);
  rmSync(exported, { force: true });
  native.call([0], "runs", "export", run, "--output", exported);
  const site = join(scratch, "packed", run);
  bundleGraph(site, files, { native, assets: join(root, "host/bundle/assets"), more: TRUST });
  const page = await opened(browser, site);
  const { said, message, rows } = await replayed(page, choose(page, exported));
  await page.close();
  return { said, message, rows };
}

function isEqual(native, run, { said, message, rows }) {
  assert.equal(message, "", run);
  assert.match(said, /replays equal/, `${run}: ${said}`);
  const expected = expectedOf(native, run);
  assert.deepEqual(rows.map((row, at) => (expected[at]?.[4] === undefined ? row.with(4, undefined) : row)), expected, run);
}

export async function stops(given) {
  const { native, tree, scratch } = given;
  {
    const { files } = project(scratch, tree, "late", LATE);
    const told = native.run("late", { ...files, more: TRUST });
    assert.equal(told.status, "completed");
    const { history } = native.json([0], "runs", "show", "late");
    assert.ok(history.length > 2, JSON.stringify(history));
    isEqual(native, "late", await compared(given, "late", files));
  }
  {
    const { folder, files } = project(scratch, tree, "accepted", ACCEPTED);
    assert.equal(native.json([6], "run", files.graph, "--caps", files.caps, ...TRUST, "--run-id", "accepted").status, "interrupted");
    // Another component for what is left, which does the same.
    const component = join(folder, ".ai/tools/t/testkit.wasm");
    writeFileSync(component, note(readFileSync(component)));
    assert.equal(native.json([0], "resume", "accepted", "--accept-changes").status, "completed");
    const { error } = JSON.parse(native.call([8], "replay", "accepted", "--json").stdout);
    const { said, message, rows } = await compared(given, "accepted", files);
    const lines = error.message.split("\n").map(withoutNodes);
    assert.deepEqual([said, message.split("\n").slice(0, lines.length)], ["", lines]);
    assert.deepEqual(rows.map((row) => row.at(-1)), rows.map(() => "equal"));
  }
  console.log("deadlines of child runs and accepted changes are replayed as natively");
}
