// Runs whose history is no straight line, replayed in the page without server and network: edited ones, forks, new turns, and those in
// which hooks have decided.

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { choose, expectedOf, opened, recorded, replayed } from "./check_replay.mjs";
import { bundleExample } from "./prepare.mjs";

/** Exports a run, and compares its replay in the page with that of the command line, digest for digest. */
async function compared({ native, scratch, page }, run, made) {
  const file = join(scratch, `${run}.jsonl`);
  rmSync(file, { force: true });
  native.call([0], "runs", "export", run, "--output", file);
  const { said, message, rows } = await replayed(page, choose(page, file));
  assert.equal(message, "", run);
  assert.match(said, /replays equal/, `${run}: ${said}`);
  const expected = expectedOf(native, run);
  assert.deepEqual(rows.map((row, at) => (expected[at]?.[4] === undefined ? row.with(4, undefined) : row)), expected, run);
  for (const source of made) assert.ok(rows.some(([, , what]) => what === source), `${run} has no checkpoint of ${source}: ${JSON.stringify(rows)}`);
  return rows.length;
}

/** Resumes a run to its end. */
function finished(native, run, answers, codes = [0]) {
  let told = native.json([...codes, 6], "resume", run);
  for (const answer of answers) {
    const given = told.interrupts.flatMap(({ id }) => ["--answer", `${id}=${answer}`]);
    told = native.json([...codes, 6], "resume", run, ...given);
  }
  return told;
}

const values = (written) => ["--values", JSON.stringify(written)];

/** Edits: in place, as a node, going back, of a finished run; and a new turn of one. */
export async function edits(given) {
  const { native, browser, sites, tree, scratch } = given;
  const options = { name: "approval", tree, scratch };
  const page = await opened(browser, join(sites, "approval"));
  let checkpoints = 0;
  const check = async (run, made) => (checkpoints += await compared({ ...given, page }, run, made));

  recorded(native, { ...options, run: "edited-1", suspensions: ["louder"] });
  native.call([0], "runs", "update", "edited-1", ...values({ text: "Nothing to announce" }));
  await check("edited-1", ["update"]);
  native.call([0], "runs", "update", "edited-1", ...values({ text: "Something, after all" }), "--as-node", "revise");
  assert.equal(finished(native, "edited-1", ["shorter", "accept"]).status, "completed");
  await check("edited-1", ["update"]);
  // Back to an earlier checkpoint: what came after it stays in the history.
  native.call([0], "runs", "update", "edited-1", "--at", "step:2", ...values({ history: [{ text: "by hand", accepted: false }] }));
  assert.equal(finished(native, "edited-1", ["accept"]).status, "completed");
  await check("edited-1", ["update"]);

  // An edit that writes nothing but where the run goes, and one that ends it.
  recorded(native, { ...options, run: "edited-2", suspensions: [] });
  native.call([0], "runs", "update", "edited-2", "--as-node", "draft");
  native.call([0], "runs", "update", "edited-2", ...values({ history: [{ accepted: true }] }), "--as-node", "publish");
  await check("edited-2", ["update"]);

  // A new turn of a run that has ended.
  recorded(native, { ...options, run: "edited-3", suspensions: ["accept"] });
  let told = native.json([6], "resume", "edited-3", "--input", "notes=/notes/release.md");
  told = native.json([0], "resume", "edited-3", ...told.interrupts.flatMap(({ id }) => ["--answer", `${id}=accept`]));
  assert.equal(told.status, "completed");
  await check("edited-3", ["start"]);
  await page.close();
  console.log(`edited runs: ${checkpoints} checkpoints replay equal`);
}

/** Forks: with and without values, of forks, with child runs. */
export async function forks(given) {
  const { native, browser, sites, tree, scratch } = given;
  const page = await opened(browser, join(sites, "approval"));
  let checkpoints = 0;
  const check = async (on, run, made) => (checkpoints += await compared({ ...given, page: on }, run, made));
  recorded(native, { name: "approval", run: "forked", tree, scratch, suspensions: ["louder", "accept"] });
  const fork = (of, run, ...more) => native.call([0, 6], "runs", "fork", of, "--run-id", run, ...more);
  fork("forked", "fork-1", "--at", "step:1");
  assert.equal(finished(native, "fork-1", ["accept"]).status, "completed");
  await check(page, "fork-1", ["fork"]);
  fork("forked", "fork-2", "--at", "step:3", ...values({ text: "Nothing to announce" }), "--as-node", "ask");
  await check(page, "fork-2", ["fork"]);
  assert.equal(finished(native, "fork-2", ["accept"]).status, "completed");
  await check(page, "fork-2", ["fork"]);
  fork("fork-2", "fork-3", "--at", "node:ask", "--go", "--answer", "ask=accept");
  await check(page, "fork-3", ["fork"]);
  native.call([0], "runs", "update", "fork-1", "--at", "node:ask", ...values({ text: "edited" }));
  assert.equal(finished(native, "fork-1", ["accept"]).status, "completed");
  await check(page, "fork-1", ["fork", "update"]);
  await page.close();

  const nested = await opened(browser, join(sites, "nested-graphs"));
  recorded(native, { name: "nested-graphs", run: "forked-nested", tree, scratch, suspensions: ["keep"] });
  fork("forked-nested", "fork-nested", "--at", "0");
  assert.equal(finished(native, "fork-nested", ["keep"]).status, "completed");
  await check(nested, "fork-nested", ["fork"]);
  await nested.close();
  console.log(`forks: ${checkpoints} checkpoints replay equal`);
}

const HEAD = 'version: "1"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: Has hooks\n';

/** Graphs in which hooks decide, by their name: the exit code, how many answers, the hooks of the project, and the graph. */
const HOOKED = {
  "retries-and-continues": {
    graph: `config:
  start: a
  hooks:
    - { id: begins, event: graph_started, action: { item_id: examples/testkit, params: { op: echo, value: 1 } } }
    - { id: again, event: error, condition: { path: attempt, op: lt, value: 3 }, action: { item_id: examples/testkit, params: { op: echo, value: { action: retry, max_retries: 2 } } } }
    - { id: past, event: error, action: { continue: true } }
    - { id: after, event: after_step, action: { item_id: examples/testkit, params: { op: echo, value: { of: "\${node}" } } } }
    - { id: logs, event: after_step, action: { item_id: examples/testkit, params: { op: log, lines: 3, bytes: 20 } } }
    - { id: ends, event: graph_completed, action: { item_id: examples/testkit, params: { op: echo, value: "\${status}" } } }
  nodes:
    a: { action: { item_id: examples/testkit, params: { op: fail, category: transient, message: it fails } }, assign: { a: "\${result}" }, next: b }
    b: { action: { item_id: examples/testkit, params: { op: echo, value: 2 } }, assign: { b: "\${result}" } }
`,
  },
  "a-limit-is-raised": {
    graph: `config:
  start: a
  max_steps: 2
  hooks:
    - { id: more, event: limit, condition: { path: current_max, op: lt, value: 4 }, action: { continue: true, additional_steps: 2 } }
    - { id: told, event: limit, action: { item_id: examples/testkit, params: { op: echo, value: "\${current_max}" } } }
  nodes:
    a: { assign: { n: 1 }, next: b }
    b: { assign: { n: 2 }, next: c }
    c: { assign: { n: 3 } }
`,
  },
  "a-question-is-seen": {
    answers: ["yes"],
    graph: `config:
  start: a
  hooks:
    - { id: asked, event: interrupt, action: { item_id: examples/testkit, params: { op: echo, value: "\${interrupts}" } } }
  nodes:
    a: { assign: { n: 1 }, next: c }
    c: { action: { item_id: examples/testkit, params: { op: interrupt, payload: { question: Go on? } } }, assign: { said: "\${result}" } }
`,
  },
  "a-hook-fails-and-one-aborts": {
    codes: [5],
    graph: `config:
  start: a
  hooks:
    - { id: fails, event: after_step, action: { item_id: examples/testkit, params: { op: fail, category: permanent, message: broken } } }
    - { id: aborts, event: after_step, condition: { path: node, op: eq, value: b }, action: { abort: true } }
  nodes:
    a: { action: { item_id: examples/testkit, params: { op: echo, value: 1 } }, next: b }
    b: { action: { item_id: examples/testkit, params: { op: echo, value: 2 } }, next: c }
    c: { assign: { c: 3 } }
`,
  },
  "hooks-of-a-project": {
    project: `hooks:
  - { id: patience, event: error, condition: { path: attempt, op: lt, value: 3 }, action: { retry: true } }
  - { id: seen, event: after_step, action: { item_id: examples/testkit, params: { op: echo, value: "\${state}" } } }
  - { event: error, action: { continue: true } }
`,
    graph: `config:
  start: a
  nodes:
    a: { action: { item_id: examples/testkit, params: { op: fail, category: transient, message: it fails } }, next: [b, c] }
    b: { action: { item_id: examples/testkit, params: { op: fail, category: permanent, message: it fails } } }
    c: { assign: { c: 3 } }
    d: { wait_for: [b, c], assign: { d: 4 } }
`,
  },
};

/** Hooks of graphs and of a project: their results are in the history, and are not computed again. */
export async function hooks(given) {
  const { native, browser, root, tree, scratch } = given;
  const folder = "examples/nodes";
  let checkpoints = 0;
  for (const [name, { graph, project, codes = [0], answers = [] }] of Object.entries(HOOKED)) {
    writeFileSync(join(tree, folder, `${name}.yaml`), HEAD + graph);
    const file = join(tree, folder, ".ai/hooks.yaml");
    if (project) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `version: "1"\ncategory: tests\n${project}`);
    }
    try {
      const exported = recorded(native, { name, run: name, tree, scratch, folder, graph: `${name}.yaml`, suspensions: answers, codes });
      const site = join(scratch, "packed", name);
      bundleExample(site, `nodes/${name}`, { native, tree, assets: join(root, "host/bundle/assets"), replay: exported });
      const { steps } = native.json([0], "runs", "show", name);
      assert.notEqual(steps, 0);
      const page = await opened(browser, site);
      checkpoints += await compared({ ...given, page }, name, ["start"]);
      // An edit of a run with hooks, and a fork of it: neither asks the hooks of the checkpoint that it begins with.
      native.call([0], "runs", "fork", name, "--run-id", `${name}-fork`, "--at", "step:1");
      finished(native, `${name}-fork`, answers, [...codes, 7]);
      checkpoints += await compared({ ...given, page }, `${name}-fork`, ["fork"]);
      native.call([0], "runs", "update", name, "--at", "step:1", ...values({ e: 5 }));
      finished(native, name, answers, [...codes, 7]);
      checkpoints += await compared({ ...given, page }, name, ["start", "update"]);
      await page.close();
    } finally {
      if (project) rmSync(file);
    }
  }
  console.log(`${Object.keys(HOOKED).length} graphs with hooks, forks and edits of their runs: ${checkpoints} checkpoints replay equal`);
}
