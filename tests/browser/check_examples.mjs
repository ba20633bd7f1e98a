// The same runs, natively and in the page.

import assert from "node:assert/strict";
import { join } from "node:path";

import { EXAMPLES } from "./examples.mjs";
import { Page } from "./page.mjs";
import { isFull } from "./sample.mjs";
import { serve } from "./serve.mjs";

const last = (checkpoints) => checkpoints.at(-1);
const short = (digest) => digest.slice("sha256:".length, "sha256:".length + 16);

/** Every checkpoint has the same result digest and the same fuel; the table has the last one of each run. */
export async function examples({ native, browser, sites, tree }) {
  const rows = [];
  const ratios = [];
  let differs = 0;
  for (const [number, { name, inputs = {}, suspensions = [] }] of EXAMPLES.entries()) {
    const folder = join(tree, "examples", name);
    const files = { graph: join(folder, "graph.yaml"), caps: join(folder, "caps.yaml"), trust: join(tree, "examples/trust.yaml") };
    const run = `r${number}`;
    // Where times are compared, once before, so that what is measured compiles nothing.
    if (isFull) native.run(`before-${run}`, { ...files, inputs, suspensions });
    const expected = native.run(run, { ...files, inputs, suspensions });
    assert.equal(expected.id, name);
    const server = await serve(join(sites, name));
    try {
      const page = await Page.open(browser, `http://localhost:${server.port}/`);
      assert.equal(await page.message(), "");
      assert.deepEqual(await page.problems(), []);
      if (isFull) await page.run(`before-${run}`, { inputs, suspensions });
      const found = await page.run(run, { inputs, suspensions });
      assert.deepEqual(page.errors, []);
      await page.close();
      const equal = JSON.stringify(found.checkpoints) === JSON.stringify(expected.checkpoints) && found.status === expected.status;
      if (!equal) {
        differs += 1;
        const at = expected.checkpoints.findIndex((one, place) => JSON.stringify(one) !== JSON.stringify(found.checkpoints[place]));
        console.log(`${name}: checkpoint ${at}`, expected.checkpoints[at], found.checkpoints[at]);
        console.log(JSON.stringify(expected.output)?.slice(0, 600), found.output.slice(0, 600));
      }
      const [a, b] = [last(expected.checkpoints), last(found.checkpoints)];
      rows.push([name, JSON.stringify(inputs), short(a.result), short(b.result), a.fuel, b.fuel, expected.checkpoints.length, equal ? "equal" : "DIFFERENT"]);
      ratios.push(found.took / expected.took);
    } finally {
      server.close();
    }
  }
  const head = ["example", "inputs", "digest, native", "digest, page", "fuel, native", "fuel, page", "checkpoints", ""];
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => String(row[at]).length)));
  for (const row of [head, ...rows]) console.log(row.map((cell, at) => String(cell).padEnd(widths[at])).join("  ").trimEnd());
  ratios.sort((a, b) => a - b);
  if (isFull) console.log(`a run in the page takes ${ratios[Math.floor(ratios.length / 2)].toFixed(2)} times as long as one of the command line, with its start (median)`);
  assert.equal(differs, 0, `${differs} runs differ`);
}
