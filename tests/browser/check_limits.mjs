// Components that ask for more memory and larger tables, natively and in the page: the same failures, fuel and digests.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { crafted } from "./crafted.mjs";
import { Page } from "./page.mjs";
import { bundleGraph } from "./prepare.mjs";
import { serve } from "./serve.mjs";

/** The memory that each call may have: 32 pages and a half. */
const MEMORY = 32 * 65536 + 32768;

const COMPONENTS = {
  "table-grows": { grow: [["table", 99_998], ["table", 1]] },
  "table-grows-too-far": { grow: [["table", 50_000], ["table", 50_000]], fails: /it asked for a table of 100001 elements; 100000 are allowed$/ },
  "table-begins-at-the-limit": { table: [100_000], grow: [["table", 0], ["table", 1]], fails: /it asked for a table of 100001 elements; 100000 are allowed$/ },
  // Growing costs fuel for each element, which is charged first.
  "table-grows-by-all": { grow: [["table", -1]], fails: /it used up its fuel$/ },
  "table-has-a-maximum": { table: [5, 10], grow: [["table", 5], ["table", 1], ["table", 200_000]] },
  "table-has-the-limit-as-its-maximum": { table: [5, 100_000], grow: [["table", 99_995], ["table", 1]], fails: /it asked for a table of 100001 elements; 100000 are allowed$/ },
  "table-has-a-large-maximum": { table: [5, 200_000], grow: [["table", 150_000]], fails: /it asked for a table of 150005 elements; 100000 are allowed$/ },
  "memory-grows": { grow: [["memory", 30], ["memory", 1]] },
  "memory-grows-too-far": { grow: [["memory", 31], ["memory", 1]], fails: new RegExp(`it asked for ${33 * 65536} bytes of memory; ${MEMORY} are allowed$`) },
  "memory-grows-by-all": { grow: [["memory", 65_535]], fails: new RegExp(`it asked for ${2 ** 32} bytes of memory; ${MEMORY} are allowed$`) },
  "memory-grows-beyond-what-it-can-have": { grow: [["memory", 65_536]] },
  "memory-grows-beyond-its-fuel": { grow: [["memory", -1]], fails: /it used up its fuel$/ },
  "memory-has-a-maximum": { memory: [2, 4], grow: [["memory", 2], ["memory", 1]] },
  "memory-begins-too-large": { memory: [33], fails: new RegExp(`it asked for ${33 * 65536} bytes of memory; ${MEMORY} are allowed$`) },
  "memory-before-table": { grow: [["memory", 40], ["table", 200_000]], fails: /bytes of memory/ },
};

export async function limits({ native, browser, root, scratch }) {
  const folder = mkdtempSync(join(scratch, "limits-"));
  const tools = join(folder, ".ai/tools/l");
  mkdirSync(tools, { recursive: true });
  native.call([0], "keys", "generate", "limits");
  const trust = join(folder, "trust.yaml");
  native.call([0], "trust", "add", "limits", "--key", "limits", "--items", "l/*", "--file", trust);
  const names = Object.keys(COMPONENTS);
  for (const name of names) {
    const file = join(tools, `${name}.wasm`);
    writeFileSync(file, crafted(root, COMPONENTS[name]));
    native.call([0], "sign", file, "--key", "limits", "--version", "1.0.0");
  }
  const node = (name) => `    ${name}: { action: { item_id: l/${name} }, assign: { answer: "\${result.text}" } }\n`;
  const head = 'version: "1"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: Asks for much\nconfig_schema: { type: object, properties: { node: { type: string } } }\n';
  const choice = names.map((name) => `      - { to: ${name}, when: { path: inputs.node, op: eq, value: ${name} } }\n`).join("");
  const graph = join(folder, "limits.yaml");
  writeFileSync(graph, `${head}config:\n  start: choose\n  output: "\${state.answer}"\n  nodes:\n    choose:\n      next:\n${choice}${names.map(node).join("")}`);
  const caps = join(folder, "caps.yaml");
  writeFileSync(caps, `dispatch: ["execute.tool.l.*"]\nlimits: { memory: ${MEMORY} }\n`);
  const files = { graph, caps, trust };
  const out = join(scratch, "sites/limits");
  bundleGraph(out, files, { native, assets: join(root, "host/bundle/assets") });
  const server = await serve(out);
  const page = await Page.open(browser, `http://localhost:${server.port}/`);
  const differences = [];
  try {
    assert.deepEqual([await page.message(), await page.problems()], ["", []]);
    for (const [name, { fails }] of Object.entries(COMPONENTS)) {
      const run = `limits-${name}`;
      const expected = native.run(run, { ...files, inputs: { node: name }, codes: [0, 1, 2, 3, 4, 5, 6, 7, 8] });
      const found = await page.run(run, { inputs: { node: name } });
      if (fails) {
        assert.equal(expected.error?.category, "limit", `${name}: ${JSON.stringify(expected)}`);
        assert.match(expected.error.message, fails, `${name}: ${expected.error.message}`);
      } else {
        assert.deepEqual([expected.status, expected.output], ["completed", "hello"], `${name}: ${JSON.stringify(expected.error)}`);
      }
      const error = expected.error && JSON.parse(found.output);
      const shown = (one, failure) => JSON.stringify([one.status, one.fuel, one.checkpoints, failure?.category, failure?.message]);
      const [a, b] = [shown(expected, expected.error), shown(found, error)];
      if (a !== b) differences.push(`${name}: native ${a}, page ${b}`);
      assert.deepEqual(page.errors, []);
    }
  } finally {
    await page.close();
    server.close();
  }
  assert.deepEqual(differences, [], differences.join("\n"));
  console.log(`${names.length} components that ask for memory and tables: equal digests, fuel and words`);
}
