// How long a superstep takes in the page and natively: equal digests are checked, the ratio is only printed.

import assert from "node:assert/strict";
import { join } from "node:path";

import { Page } from "./page.mjs";
import { serve } from "./serve.mjs";

const [SHORT, LONG] = [100, 400];

export async function speed({ native, browser, sites, tree }) {
  const files = { graph: join(tree, "examples/nodes/loop.yaml"), caps: join(tree, "examples/nodes/caps.yaml"), trust: join(tree, "examples/trust.yaml") };
  const server = await serve(join(sites, "nodes/loop"));
  const page = await Page.open(browser, `http://localhost:${server.port}/`);
  const took = { native: {}, page: {} };
  try {
    for (const [steps, long] of [[SHORT, false], [LONG, true]]) {
      const run = `speed-${steps}`;
      const expected = native.run(run, { ...files, inputs: { long } });
      const found = await page.run(run, { inputs: { long } });
      assert.deepEqual([found.status, found.fuel, found.checkpoints], [expected.status, expected.fuel, expected.checkpoints]);
      [took.native[steps], took.page[steps]] = [expected.took, found.took];
    }
    assert.deepEqual(page.errors, []);
  } finally {
    await page.close();
    server.close();
  }
  // What both sizes have in common, starting and reading the result, is left out.
  const [ours, theirs] = [took.page, took.native].map((of) => (of[LONG] - of[SHORT]) / (LONG - SHORT));
  console.log(`a superstep: ${ours.toFixed(2)} ms in the page, ${theirs.toFixed(2)} ms natively: ${(ours / theirs).toFixed(1)} times as long`);
}
