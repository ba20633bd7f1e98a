// Typed exports: functions that components export, called by nodes natively and in the page with values of every type. Their results, digests, fuel
// and refusals are equal.

import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { provider } from "./models_server.mjs";
import { Page } from "./page.mjs";
import { bundleGraph } from "./prepare.mjs";
import { serve } from "./serve.mjs";

/** Calls that end otherwise than with a result: the function, and its params as JSON. */
const REFUSED = [
  ["echo/echo-u64", '{"v": -1}'],
  ["echo/echo-s64", '{"v": 1e19}'],
  ["echo/echo-u8", '{"v": 3.0}'],
  ["echo/echo-u8", '{"v": 3.5}'],
  ["echo/echo-u8", '{"v": 300.0}'],
  ["echo/echo-u8", '{"w": 3}'],
  ["echo/echo-u8", "{}"],
  ["echo/echo-u8", "[]"],
  ["echo/echo-f32", '{"v": 1e300}'],
  ["echo/echo-f64", '{"v": "nan"}'],
  ["echo/echo-f64", '{"v": null}'],
  ["echo/echo-char", '{"v": ""}'],
  ["echo/echo-bool", '{"v": "true"}'],
  ["echo/echo-string", '{"v": 1}'],
  ["echo/echo-texts", '{"v": ["a", null]}'],
  ["echo/echo-lists", '{"v": [[1], [2, "3"]]}'],
  ["echo/echo-record", '{"v": {"x": 1, "y": 2, "z": 3}}'],
  ["echo/echo-tuple", '{"v": [1, "a"]}'],
  ["echo/echo-variant", '{"v": "circle"}'],
  ["echo/echo-variant", '{"v": {"empty": 1}}'],
  ["echo/echo-variant", '{"v": {"polygon": [{"x": 1, "y": "2"}]}}'],
  ["echo/echo-enum", '{"v": "darkBlue"}'],
  ["echo/echo-flags", '{"v": ["read", "read"]}'],
  ["echo/echo-flags", '{"v": ["delete"]}'],
  ["echo/echo-nested", '{"v": 7}'],
  ["echo/echo-result", '{"v": [{"ok": 1, "err": "no"}]}'],
  ["echo/echo-units", '{"v": [{"ok": 1}, {"ok": 1}, {"err": 2}]}'],
  ["forms/echo-deep", '{"v": {"some": 7}}'],
  ["forms/echo-counts", '{"v": {"toString": "s", "HTTP-status": 1, "a1": 1}}'],
];
/** How a value of each function of the component of JavaScript is asked for. */
const WORDS = [
  ["upper", '{"text": "a ß 😀"}'],
  ["upper", '{"text": ""}'],
  ["acme:texts/words/count", '{"text": "a b a 😀 ä a"}'],
  ["acme:texts/words/longest", '{"texts": ["a", null, "😀😀", ""]}'],
  ["acme:texts/words/longest", '{"texts": []}'],
  ["acme:texts/words/number", '{"text": "-0"}'],
  ["acme:texts/words/number", '{"text": "1e21"}'],
  ["acme:texts/words/number", '{"text": "x"}'],
  ["acme:texts/words/number", '{"text": ""}'],
  ["acme:texts/words/number", '{"text": 7}'],
];

/** What no node can call is refused where a bundle is made, in the words of a run. */
function refusedAlike({ native, tree, scratch }, node) {
  const folder = join(tree, "functions/refused");
  mkdirSync(join(folder, ".ai/tools/me"), { recursive: true });
  for (const end of ["", ".dsse.json"]) cpSync(`${node}${end}`, join(folder, `.ai/tools/me/types.wasm${end}`));
  const [graph, caps] = ["graph.yaml", "caps.yaml"].map((name) => join(folder, name));
  for (const [name, words] of [["acme:types/things/take", "its parameter `of` is or holds a resource"], ["acme:types/echo/echo-u7", "did you mean"]]) {
    writeFileSync(graph, chain("me/types", [[name, "{}"]]));
    writeFileSync(caps, manifest("me/types", [name], "{ random: true }"));
    for (const command of [["run", graph, "--caps", caps], ["bundle", graph, "--caps", caps, "-o", join(scratch, "sites/functions/refused")]]) {
      const { stderr } = native.call([1, 2, 3, 4, 5, 6, 7, 8], ...command);
      const flat = stderr.replace(/\s+/g, " ");
      assert.ok(flat.includes(words) && flat.includes(name.split("/").at(-1)), `${command[0]} says of ${name}:\n${stderr}`);
    }
  }
}

const full = (name) => (name.includes(":") || !name.includes("/") ? name : `acme:types/${name}`);

/** Every value of `values.json`, one superstep each. */
function chain(item, calls) {
  const nodes = calls.map(([name, params], at) => {
    const next = at + 1 < calls.length ? `, "next": "n${at + 1}"` : "";
    return `"n${at}": {"action": {"item_id": ${JSON.stringify(`${item}#${name}`)}, "params": ${params}}, "assign": {"n${at}": "\${result}"}${next}}`;
  });
  return `{"tool_type": "graph", "config": {"start": "n0", "nodes": {${nodes.join(",\n")}}}}\n`;
}

/** What a page shows of an output: characters that nobody sees are escaped there. */
const readOutput = (shown) => JSON.parse(shown.replace(/\\u\{([0-9a-f]+)\}/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16))));

/** A graph that calls what its inputs name. */
const OPEN = `tool_type: graph
config_schema: { type: object, properties: { item: { type: string }, params: {} }, required: [item] }
config:
  start: call
  nodes:
    call: { action: { item_id: "\${inputs.item}", params: "\${inputs.params}" }, assign: { result: "\${result}" } }
`;

function manifest(item, names, grants) {
  const each = [...new Set(names)];
  const items = grants ? `items:\n${each.map((name) => `  "${item}#${name}": ${grants}\n`).join("")}` : "";
  return `version: 1\ndispatch:\n${each.map((name) => `  - "execute.tool.${item.replace("/", ".")}#${name}"\n`).join("")}${items}limits: { fuel: 200000000 }\n`;
}

/** Runs calls natively and in a page; gives what differs, the fuel of each, and how many there were. */
async function compare({ native, browser, root, tree, scratch }, language, node, { item, values, ends, grants }) {
  const folder = join(tree, "functions", language);
  mkdirSync(join(folder, ".ai/tools/me"), { recursive: true });
  for (const end of ["", ".dsse.json"]) cpSync(`${node}${end}`, join(folder, `.ai/tools/${item}.wasm${end}`));
  const [chained, open, caps] = ["chain.yaml", "open.yaml", "caps.yaml"].map((name) => join(folder, name));
  writeFileSync(chained, chain(item, values));
  writeFileSync(open, OPEN);
  writeFileSync(caps, manifest(item, [...values, ...ends].map(([name]) => name), grants));
  const [differences, fuels] = [[], []];
  const shown = (one, output, error) => JSON.stringify([one.status, one.fuel, one.checkpoints, output, error && [error.category, error.message]]);
  const each = [
    [chained, [["values", "{}"]]],
    [open, ends.map(([name, params]) => [name, `{"item": ${JSON.stringify(`${item}#${name}`)}, "params": ${params}}`])],
  ];
  for (const [graph, runs] of each) {
    const out = join(scratch, "sites/functions", language, graph === open ? "open" : "chain");
    bundleGraph(out, { graph, caps }, { native, assets: join(root, "host/bundle/assets") });
    const site = await serve(out);
    const page = await Page.open(browser, `http://localhost:${site.port}/`);
    try {
      assert.deepEqual([await page.message(), await page.problems()], ["", []]);
      for (const [number, [name, text]] of runs.entries()) {
        const run = `${language}-${graph === open ? "open" : "chain"}-${number}`;
        const inputs = graph === open ? { item: JSON.parse(text).item, params: text.slice(text.indexOf('"params": ') + 10, -1) } : {};
        const expected = native.run(run, { graph, caps, inputs, codes: [0, 1, 2, 3, 4, 5, 6, 7, 8] });
        const found = await page.run(run, { text });
        const a = shown(expected, expected.error ? null : expected.output, expected.error);
        const b = shown(found, expected.error ? null : readOutput(found.output), expected.error && readOutput(found.output));
        fuels.push(found.fuel);
        if (a !== b) differences.push(`${language}: ${name} ${text.slice(0, 200)}:\nnative ${a.slice(0, 6000)}\npage   ${b.slice(0, 6000)}`);
      }
      assert.deepEqual(page.errors, []);
    } finally {
      await page.close();
      site.close();
    }
  }
  return { differences, fuels, count: values.length + ends.length };
}

const KEY = "sk-key-of-the-checks-0123456789";
const POINT = "acme:types/echo/echo-record";
const DIVIDE = "acme:types/ends/divide";

const AGENT = `tool_type: graph
config_schema: { type: object, properties: { message: { type: string } } }
config:
  start: ask
  nodes:
    ask:
      action:
        item_id: rye/agent/agent
        params:
          message: "\${inputs.message}"
          model: chat
          tools:
            - { item: "me/types#${POINT}", name: point, description: Gives a point back, parameters: { type: object } }
            - { item: "me/types#${DIVIDE}", name: divide, description: Divides, parameters: { type: object } }
          limits: { turns: 6 }
      assign: { result: "\${result}" }
`;

const agentManifest = (port) => `version: 1
dispatch: [execute.tool.rye.agent.agent, execute.tool.rye.agent.turn, "execute.tool.me.types#${POINT}", "execute.tool.me.types#${DIVIDE}"]
models:
  chat: { api: openai-chat, model: gpt-5, stream: false, url: "http://127.0.0.1:${port}/v1", secret: { env: PROVIDER_KEY }, addresses: [127.0.0.1], price: { input: 1.25, output: 4 }, max_output: 200 }
items:
  rye/agent/turn: { model: [chat], limits: { timeout: 20s, model: { calls: 8 } } }
  "me/types#${POINT}": { random: true }
  "me/types#${DIVIDE}": { random: true }
run: { model: { cost: 0.5 } }
`;

/** What the model does for each message: it answers, calls functions of a component, or calls them wrongly. */
const call = (id, name, values) => ({ id, name, arguments: JSON.stringify(values) });
const MESSAGES = [
  { input: 20, output: 5 },
  { input: 20, output: 5, calls: [call("call-1", "point", { v: { x: 0.5, y: -1.5, label: "😀" } }), call("call-2", "divide", { a: 7, b: 2 })] },
  { input: 20, output: 5, calls: [call("call-1", "divide", { a: 1, b: 0 }), call("call-2", "point", { v: { x: 1 } })] },
];

/** The built-in agent, which calls functions of a component as tools of a model, natively and in the page; gives what differs. */
async function agent({ native, browser, root, tree, scratch }, node) {
  const folder = join(tree, "functions/agent");
  mkdirSync(join(folder, ".ai/tools/me"), { recursive: true });
  for (const end of ["", ".dsse.json"]) cpSync(`${node}${end}`, join(folder, `.ai/tools/me/types.wasm${end}`));
  const [graph, caps] = ["graph.yaml", "caps.yaml"].map((name) => join(folder, name));
  const server = await provider(KEY);
  const [differences, fuels] = [[], []];
  try {
    writeFileSync(graph, AGENT);
    writeFileSync(caps, agentManifest(server.port));
    const out = join(scratch, "sites/functions/agent");
    bundleGraph(out, { graph, caps }, { native, assets: join(root, "host/bundle/assets") });
    const site = await serve(out);
    const page = await Page.open(browser, `http://localhost:${site.port}/`);
    try {
      assert.deepEqual([await page.message(), await page.problems()], ["", []]);
      await page.page.fill("#secrets input", KEY);
      for (const [number, message] of MESSAGES.entries()) {
        const inputs = { message: JSON.stringify(message) };
        const expected = native.run(`agent-${number}`, { graph, caps, inputs, codes: [0, 1, 2, 3, 4, 5, 6, 7, 8], env: { PROVIDER_KEY: KEY } });
        const sentNatively = await server.seen();
        const found = await page.run(`agent-${number}`, { inputs });
        const sent = await server.seen();
        const shown = (one, error, requests) => JSON.stringify([one.status, one.fuel, one.checkpoints, error, requests]);
        const a = shown(expected, expected.error?.message, sentNatively);
        const b = shown(found, expected.error && JSON.parse(found.output).message, sent);
        fuels.push(found.fuel);
        assert.equal(sent.length, message.calls ? 2 : 1, found.output);
        if (a !== b) differences.push(`agent: ${inputs.message}:\nnative ${a.slice(0, 6000)}\npage   ${b.slice(0, 6000)}`);
      }
    } finally {
      await page.close();
      site.close();
    }
  } finally {
    server.close();
  }
  console.log(`agent       ${MESSAGES.length} runs of the built-in agent with typed exports as its tools, equal requests, fuel, native and page: ${fuels.join(" ")}`);
  return differences;
}

/** Compares the components with functions among the built nodes, `LANGUAGE-functions/node.wasm`; gives what differs. */
export async function functions(given, nodes) {
  const calls = JSON.parse(readFileSync(join(given.root, "tests/functions/values.json"), "utf8"));
  const values = Object.entries(calls.values).flatMap(([name, texts]) => texts.map((text) => [name, `{"v": ${text}}`]));
  const joined = '{"a": "ä", "b": 1, "c": -2, "d": 0.5, "e": ["", "b"], "f": null, "g": [3, "c"], "h": true, "i": "😀", "j": 1.5, "k": 18446744073709551615}';
  values.push(["acme:types/forms/join", joined], ["add", '{"a": 1, "b": 2}'], ["acme:types/chance/roll", "{}"], ["acme:types/ends/nothing", "{}"]);
  const ends = [...calls.failures.map(([name, params]) => [name, JSON.stringify(params)]), ...REFUSED.map(([name, params]) => [full(name), params])];
  const words = { item: "me/words", values: WORDS.slice(0, 7), ends: WORDS };
  const languages = { rust: { item: "me/types", values, ends, grants: "{ random: true }" }, ts: words, python: words };
  const differences = [];
  for (const [language, what] of Object.entries(languages)) {
    const node = join(nodes, `${language}-functions`, "node.wasm");
    if (!existsSync(node)) continue;
    const { differences: own, fuels, count } = await compare(given, language, node, what);
    differences.push(...own);
    console.log(`${language.padEnd(11)} typed exports: ${count} calls, fuel, native and page: ${fuels.join(" ")}`);
  }
  const rust = join(nodes, "rust-functions/node.wasm");
  if (existsSync(rust)) {
    refusedAlike(given, rust);
    differences.push(...(await agent(given, rust)));
  }
  return differences;
}
