// One node in each language that nodes are written in, natively and in the page: what it computes, its files, its requests and what it calls
// give equal results, digests and fuel. What a page of each weighs, and how long it takes, is printed.

import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { walk } from "./bundle.mjs";
import { functions } from "./check_functions.mjs";
import { loopback } from "./loopback.mjs";
import { Page } from "./page.mjs";
import { bundleGraph } from "./prepare.mjs";
import { serve } from "./serve.mjs";

const LANGUAGES = ["rust", "ts", "ts-bare", "c", "c-bare", "python", "python-bare"];
const SECRET = "v4lue-of-the-token";
/** The most that a page of one of them has, in bytes, and the most seconds until it has opened for the first time. */
const MOST = { bytes: 25 << 20, seconds: 15 };

const GRAPH = `tool_type: graph
config_schema: { type: object, properties: { op: { type: string }, value: {} }, required: [op] }
config:
  start: step
  nodes:
    step: { action: { item_id: me/node, params: { op: "\${inputs.op}", value: "\${inputs.value}" } }, assign: { result: "\${result}" } }
`;

const manifest = (port) => `version: 1
dispatch: ["execute.tool.me.node"]
items:
  me/node:
    clocks: true
    random: true
    tools: true
    filesystem: [{ path: data, as: /data }]
    http: [{ host: localhost, schemes: [http], ports: [${port}, 1], methods: [GET, POST], addresses: [127.0.0.1, "::1"] }]
    secrets: [{ name: TOKEN, from: { env: REACH_TOKEN }, header: authorization, host: localhost, schemes: [http] }]
    knowledge: [{ scope: notes/, access: rw }]
    limits: { timeout: 30s }
`;

const deep = { text: "häuser 😀", numbers: [0, -1, 1.5, 1e100], deep: [[{ a: null }], true], long: "ü".repeat(4_000) };
/** What each is asked, by what it shows. `words: false` where a page is not told why there is no connection. */
const steps = (port) => ({
  plain: [{ op: "echo", value: deep }, { op: "log", value: "seen" }, { op: "random", value: 24 }, { op: "fail", value: "transient" }, { op: "fail", value: "limit" }, { op: "unknown" }],
  files: [{ op: "missing" }, { op: "outside" }],
  http: [
    { op: "get", value: `http://localhost:${port}/text` },
    { op: "get", value: `http://localhost:${port}/missing` },
    { op: "request", value: `http://localhost:${port}/echo?a=b` },
    { op: "get", value: "http://elsewhere.example/" },
    { op: "get", value: "http://localhost:1/", words: false },
  ],
  others: [{ op: "knowledge", value: "a remembered note" }, { op: "secrets", value: "TOKEN" }, { op: "tool", value: [1, { b: 2 }] }, { op: "forbidden" }, { op: "clock" }],
});

/** What a node is asked that wants nothing: it is refused by a component that is composed with it. */
const refused = (port) => ({
  plain: [{ op: "echo", value: deep }, { op: "tool", value: 1 }],
  files: [{ op: "missing" }, { op: "files", value: "text" }],
  http: [{ op: "get", value: `http://localhost:${port}/text` }, { op: "secrets", value: "TOKEN" }],
  others: [{ op: "clock" }, { op: "random", value: 3 }, { op: "knowledge", value: "a note" }],
});

/** Runs the steps of one language; gives what differs, and the figures of the page. */
async function compare({ native, browser, root, tree, scratch }, language, node, server) {
  const folder = join(tree, "languages", language);
  mkdirSync(join(folder, ".ai/tools/me"), { recursive: true });
  mkdirSync(join(folder, "data"));
  for (const end of ["", ".dsse.json"]) cpSync(`${node}${end}`, join(folder, `.ai/tools/me/node.wasm${end}`));
  const [graph, caps] = [join(folder, "graph.yaml"), join(folder, "caps.yaml")];
  writeFileSync(graph, GRAPH);
  const wants = !language.endsWith("-bare");
  writeFileSync(caps, wants ? manifest(server.port) : 'version: 1\ndispatch: ["execute.tool.me.node"]\n');
  writeFileSync(join(folder, "data/missing.txt"), "zweite Zeile ä\n".repeat(200));
  const out = join(scratch, "sites/languages", language);
  bundleGraph(out, { graph, caps }, { native, assets: join(root, "host/bundle/assets") });
  const bytes = walk(out).reduce((sum, path) => sum + readFileSync(path).length, 0);
  const site = await serve(out);
  const began = performance.now();
  const page = await Page.open(browser, `http://localhost:${site.port}/`);
  const opened = (performance.now() - began) / 1000;
  const [differences, fuels] = [[], {}];
  let [first, again] = [undefined, 0];
  try {
    assert.deepEqual([await page.message(), await page.problems()], ["", []]);
    if (wants) await page.page.fill("#secrets input", SECRET);
    for (const [kind, all] of Object.entries(wants ? steps(server.port) : refused(server.port))) {
      for (const [number, { words = true, ...inputs }] of all.entries()) {
        const run = `${language}-${kind}-${number}`;
        const given = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]));
        const expected = native.run(run, { graph, caps, inputs: given, codes: [0, 1, 2, 3, 4, 5, 6, 7, 8], env: { REACH_TOKEN: SECRET } });
        const before = performance.now();
        const found = await page.run(run, { inputs });
        first ??= (performance.now() - before) / 1000;
        const shown = (one, output, error) => JSON.stringify([one.status, one.fuel, one.checkpoints, output, error && (words ? error.message : error.category)]);
        const a = shown(expected, expected.error ? null : expected.output, expected.error);
        const b = shown(found, expected.error ? null : JSON.parse(found.output), expected.error && JSON.parse(found.output));
        fuels[kind] = [...(fuels[kind] ?? []), found.fuel];
        if (a !== b) differences.push(`${language}: ${JSON.stringify(inputs).slice(0, 200)}:\nnative ${a.slice(0, 1500)}\npage   ${b.slice(0, 1500)}`);
      }
    }
    assert.deepEqual(page.errors.filter((text) => !text.includes("ERR_") && !text.includes("404")), []);
    // Opened again, its files come from the browser's cache as far as the server lets them.
    const reloaded = performance.now();
    await page.page.reload();
    await page.page.waitForFunction(() => document.getElementById("loading")?.hidden === true);
    again = (performance.now() - reloaded) / 1000;
  } finally {
    await page.close();
    site.close();
  }
  return { differences, fuels, bytes, opened, again, first };
}

/** `LANGUAGE_NODES` is a folder with the built nodes, `LANGUAGE/node.wasm`, and components with typed exports, `LANGUAGE-functions/node.wasm`, signed. */
export async function languages(given) {
  const nodes = process.env.LANGUAGE_NODES;
  const found = LANGUAGES.filter((language) => nodes && existsSync(join(nodes, language, "node.wasm")));
  if (found.length === 0) return console.log("no node was built: languages are left out");
  const server = await loopback();
  const differences = [];
  try {
    console.log(`${"language".padEnd(11)} ${"node".padStart(9)} ${"page".padStart(9)}  opened     again  first call   fuel, native and page: plain | files | http | others`);
    for (const language of found) {
      const node = join(nodes, language, "node.wasm");
      const { differences: own, fuels, bytes, opened, again, first } = await compare(given, language, node, server);
      differences.push(...own);
      const kilobytes = (count) => `${Math.round(count / 1024)} KB`.padStart(9);
      const all = Object.values(fuels).map((each) => each.join(" "));
      console.log(`${language.padEnd(11)} ${kilobytes(readFileSync(node).length)} ${kilobytes(bytes)} ${opened.toFixed(1).padStart(6)} s ${again.toFixed(1).padStart(6)} s ${first.toFixed(1).padStart(8)} s   ${all.join(" | ")}`);
      if (bytes > MOST.bytes) differences.push(`a page with ${language} has ${bytes} bytes, more than ${MOST.bytes}`);
      if (opened > MOST.seconds) differences.push(`a page with ${language} opens after ${opened.toFixed(1)} s, later than ${MOST.seconds} s`);
    }
  } finally {
    server.close();
  }
  differences.push(...(await functions(given, nodes)));
  assert.deepEqual(differences, [], differences.join("\n\n"));
  console.log(`${found.length} languages: equal results, digests and fuel`);
}
