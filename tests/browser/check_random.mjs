// Random graphs, natively and in the page: result digests and fuel of every checkpoint.

import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { seal } from "./bundle.mjs";
import { Page } from "./page.mjs";
import { serve } from "./serve.mjs";

/** How often a run is resumed, with the same answer to all questions. */
const RESUMES = 3;
const ANSWER = "yes";

/** Runs a graph as far as it goes. A resume that is refused ends it. */
function natively(native, run, { graph, caps, trust, inputs }) {
  const ENDS = [0, 4, 5, 6, 7];
  let told = native.json(ENDS, "run", graph, "--caps", caps, "--trust", trust, "--run-id", run, "--inputs", inputs);
  for (let resumes = 0; resumes < RESUMES && told.status === "interrupted"; resumes += 1) {
    // An interrupt before or after a node asks nothing.
    const asked = told.interrupts.filter(({ id }) => !/\/(before|after)\//.test(id));
    const resumed = native.json([...ENDS, 2], "resume", run, ...asked.flatMap(({ id }) => ["--answer", `${id}="${ANSWER}"`]));
    if (resumed.status === undefined) break;
    told = resumed;
  }
  const { history, graph_id: id } = native.json([0], "runs", "show", run);
  const checkpoints = history.map(({ step, result_digest: result, fuel }) => ({ step: String(step), result, fuel: String(fuel) }));
  return { id, status: told.status, fuel: String(told.fuel), message: told.error?.message, checkpoints };
}

async function inPage(page, run, text) {
  let found = await page.run(run, { text });
  for (let resumes = 0; resumes < RESUMES && found.status === "interrupted"; resumes += 1) {
    for (const field of await page.page.locator("#answers textarea").all()) await field.fill(ANSWER);
    await page.page.click("#answers [type=submit]");
    await page.stopped().catch(() => undefined);
    if (await page.message()) break;
    found = await page.result(run);
  }
  let message;
  try {
    message = JSON.parse(found.output)?.message;
  } catch {
    message = undefined;
  }
  return { ...found, message };
}

/** RANDOM_GRAPHS is a folder of graphs that a test of `graph-core` has written: see `run`. */
export async function random({ native, browser, sites, tree, scratch }) {
  const folder = process.env.RANDOM_GRAPHS ?? "";
  if (!existsSync(join(folder, "graph-0.yaml"))) {
    console.log("RANDOM_GRAPHS names no folder of graphs: left out");
    return;
  }
  // One site: only the graph in `bundle.json` is another one each time.
  const site = join(scratch, "random");
  rmSync(site, { recursive: true, force: true });
  cpSync(join(sites, "nodes/probe"), site, { recursive: true });
  const document = JSON.parse(readFileSync(join(site, "bundle.json"), "utf8"));
  const at = join(tree, "examples/nodes");
  const server = await serve(site);
  const counts = { graphs: 0, checkpoints: 0, statuses: {} };
  const different = [];
  try {
    for (let number = 0; existsSync(join(folder, `graph-${number}.yaml`)); number += 1) {
      const run = `random-${number}`;
      const text = readFileSync(join(folder, `graph-${number}.yaml`), "utf8");
      const inputs = join(folder, `graph-${number}.json`);
      const graph = join(at, "random.yaml");
      mkdirSync(at, { recursive: true });
      writeFileSync(graph, text);
      const expected = natively(native, run, { graph, caps: join(at, "caps.yaml"), trust: join(tree, "examples/trust.yaml"), inputs });
      document.graph = { name: graph, id: expected.id, text };
      // They are those of the graph that was bundled.
      delete document.pins;
      delete document.texts;
      writeFileSync(join(site, "bundle.json"), JSON.stringify(document));
      seal(site);
      const page = await Page.open(browser, `http://localhost:${server.port}/`);
      assert.deepEqual([await page.message(), await page.problems()], ["", []], text);
      const found = await inPage(page, run, readFileSync(inputs, "utf8"));
      assert.deepEqual(page.errors, []);
      await page.close();
      const [a, b] = [expected, found].map(({ status, fuel, checkpoints }) => JSON.stringify([status, fuel, checkpoints]));
      if (a !== b) different.push(`graph ${number}:\n${text}\nnative ${a} ${expected.message ?? ""}\npage   ${b} ${found.message ?? ""}`);
      counts.graphs += 1;
      counts.checkpoints += expected.checkpoints.length;
      counts.statuses[expected.status] = (counts.statuses[expected.status] ?? 0) + 1;
    }
  } finally {
    server.close();
  }
  const ends = Object.entries(counts.statuses).map(([status, count]) => `${count} ${status}`);
  console.log(`${counts.graphs} random graphs, ${counts.checkpoints} checkpoints (${ends.join(", ")}): ${different.length} differ`);
  assert.deepEqual(different, [], different.slice(0, 3).join("\n\n"));
}
