// How calls end: the hostile rows that can exist in a page, with the words and the fuel of a native run.

import assert from "node:assert/strict";
import { join } from "node:path";

import { Page } from "./page.mjs";
import { serve } from "./serve.mjs";

const ENDS = [
  { op: "echo", value: { large: 18446744073709551615n, small: -9223372036854775808n, tiny: 5e-324, text: "\u2028 ü 😀", 10: 1, 9: 2 } },
  { op: "echo", value: null },
  { op: "command", update: { answer: [1, 2] }, goto: [] },
  { op: "command", update: {}, goto: ["nowhere"] },
  { op: "fail", category: "invalid-input", message: "a\u001b[2Jb\n" },
  { op: "spin", iterations: 18446744073709551615n },
  { op: "grow", bytes: 1 << 20 },
  { op: "grow", bytes: 1 << 30 },
  // Where a stack ends is the engine's: the category has to be equal.
  { op: "recurse", depth: 100_000_000, words: false },
  { op: "output", bytes: 2 << 20 },
  { op: "log", lines: 3, bytes: 10 },
  { op: "log", lines: 10_000, bytes: 1000 },
  { op: "emit", name: "an/event", count: 3, text: "x" },
  { op: "emit", name: "no event", count: 1 },
  { op: "emit", name: "e", count: 100_000, text: "much" },
  { op: "trap" },
  { op: "nan" },
  { op: "activation" },
  { op: "no-such-thing" },
];

const json = (value) => JSON.stringify(value, (_, one) => (typeof one === "bigint" ? JSON.rawJSON?.(String(one)) ?? `\u0000${one}\u0000` : one)).replace(/"\\u0000(-?\d+)\\u0000"/g, "$1");

export async function ends({ native, browser, sites, tree }) {
  const folder = join(tree, "examples/nodes");
  const files = { graph: join(folder, "probe.yaml"), caps: join(folder, "caps.yaml"), trust: join(tree, "examples/trust.yaml"), codes: [0, 1, 2, 3, 4, 5, 6, 7, 8] };
  const server = await serve(join(sites, "nodes/probe"));
  const page = await Page.open(browser, `http://localhost:${server.port}/`);
  const differences = [];
  let equal = 0;
  try {
    assert.deepEqual([await page.message(), await page.problems()], ["", []]);
    for (const [number, { words = true, ...end }] of ENDS.entries()) {
      const text = json(end);
      const run = `end-${number}`;
      const expected = native.run(run, { ...files, inputs: { do: text } });
      const began = performance.now();
      const found = await page.run(run, { text: `{"do":${text}}` });
      const took = performance.now() - began;
      assert.equal(found.status, expected.status, text);
      const shown = (one, error) => JSON.stringify([one.fuel, one.checkpoints, words ? error?.message : error?.category]);
      const [a, b] = [shown(expected, expected.error), shown(found, expected.error && JSON.parse(found.output))];
      if (a !== b) differences.push(`${text}: native ${a}, page ${b}`);
      else equal += 1;
      if (end.op === "spin") console.log(`an endless loop: ${expected.error.message}, after ${found.fuel} fuel, in the page within ${(took / 1000).toFixed(1)} s`);
      assert.deepEqual(page.errors, []);
    }
  } finally {
    await page.close();
    server.close();
  }
  assert.deepEqual(differences, []);
  console.log(`${equal} ways to end: equal digests, fuel and words`);
}
