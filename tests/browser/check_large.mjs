// Components as large as those that JavaScript and Python make: a page runs one of 12 MB, and what is too large is refused in words.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { bundleExample } from "./prepare.mjs";
import { Page } from "./page.mjs";
import { serve } from "./serve.mjs";

function leb(number) {
  const bytes = [];
  for (let left = number; ; left >>>= 7) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left & 127) | 128);
  }
}

/** A component with so many more bytes, in a custom section at its end. They are no zeros, so that nothing gets smaller. */
function padded(component, bytes) {
  const name = Buffer.from("\x07padding");
  const content = Buffer.alloc(bytes);
  for (let at = 0, state = 1; at < bytes; at += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    content.writeUInt32LE(state, at);
  }
  return Buffer.concat([component, Buffer.from([0]), leb(name.length + bytes), name, content]);
}

export async function large({ native, browser, sites, tree, scratch, root }) {
  const copy = join(scratch, "large");
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  cpSync(join(tree, "examples"), join(copy, "examples"), { recursive: true });
  const wasm = join(copy, "examples/nodes/.ai/tools/examples/testkit.wasm");
  const own = readFileSync(wasm);
  rmSync(`${wasm}.dsse.json`);
  const assets = join(root, "host/bundle/assets");
  const bundle = (bytes) => {
    writeFileSync(wasm, padded(own, bytes));
    const site = join(scratch, "sites-large");
    bundleExample(site, "nodes/probe", { native, tree: copy, assets, more: ["--allow-unsigned"] });
    return site;
  };
  const server = await serve(bundle(12 << 20));
  const began = performance.now();
  const page = await Page.open(browser, `http://localhost:${server.port}/`);
  const opened = performance.now() - began;
  assert.deepEqual([await page.message(), await page.problems()], ["", []]);
  const found = await page.run("large", { text: '{"do":{"op":"grow","bytes":1048576}}' });
  assert.equal(found.status, "completed");
  assert.deepEqual(JSON.parse(found.output), { answer: 1048576 });
  assert.deepEqual(page.errors, []);
  await page.close();
  server.close();
  // The digests are those of the component without padding: it computes the same.
  const plain = await serve(join(sites, "nodes/probe"));
  const other = await Page.open(browser, `http://localhost:${plain.port}/`);
  const expected = await other.run("large", { text: '{"do":{"op":"grow","bytes":1048576}}' });
  assert.deepEqual(found.checkpoints, expected.checkpoints);
  await other.close();
  plain.close();
  // The sentence of the compiler's limit, and that of a bundle.
  assert.throws(() => bundle(100 << 20), /exit code 7[^]*it has 105094\d+ bytes; at most/);
  const second = join(copy, "examples/nodes/.ai/tools/examples/testkit-io.wasm");
  rmSync(`${second}.dsse.json`);
  writeFileSync(second, padded(readFileSync(second), 60 << 20));
  const graph = join(copy, "examples/nodes/probe.yaml");
  writeFileSync(graph, readFileSync(graph, "utf8").replace("      next: done\n", "      next: more\n    more: { action: { item_id: examples/testkit-io, params: { op: now } }, next: done }\n"));
  writeFileSync(join(copy, "examples/nodes/caps.yaml"), 'dispatch: ["execute.tool.examples.*"]\nitems:\n  examples/testkit-io: { clocks: true, random: true, filesystem: [{ path: ../approval/notes, as: /src, access: ro }] }\n');
  assert.throws(() => bundle(60 << 20), /exit code 7[^]*96 MiB/);
  console.log(`a component of 12 MiB: the page opens in ${(opened / 1000).toFixed(1)} s and runs it; one of 100 MiB and a bundle of 120 MiB are refused`);
}
