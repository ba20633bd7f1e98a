// Components that ask language models, natively and in the page, with one provider: equal requests, digests, fuel, words and journals; and
// replays of both without it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { seal } from "./bundle.mjs";
import { journals } from "./check_reach.mjs";
import { flat, said } from "./check_refusals.mjs";
import { choose, replayed } from "./check_replay.mjs";
import { provider } from "./models_server.mjs";
import { Native } from "./native.mjs";
import { Page } from "./page.mjs";
import { bundleGraph } from "./prepare.mjs";
import { serve } from "./serve.mjs";

const KEY = "sk-key-of-the-checks-0123456789";

const GRAPH = `version: "1.0.0"
tool_type: graph
executor_id: graph-host
category: tests
description: Asks language models
config_schema: { type: object, properties: { do: { type: object } } }
config:
  start: ask
  output: "\${state.result}"
  nodes:
    ask: { action: { item_id: m/ask, params: "\${inputs.do}" }, assign: { result: "\${result}" } }
`;

const MODELS = {
  chat: "api: openai-chat, model: gpt-5, stream: false",
  responses: "api: openai-responses, model: gpt-5, stream: false",
  claude: "api: anthropic, model: claude-haiku-4-5, stream: false",
  // A page takes its answer as a whole.
  streamed: "api: openai-chat, model: gpt-5",
  slow: "api: openai-chat, model: gpt-5, stream: false, timeout: 1s",
};

function manifest(port) {
  const shared = `url: "http://127.0.0.1:${port}/v1", secret: { env: PROVIDER_KEY }, addresses: [127.0.0.1], price: { input: 1.25, output: 4 }, max_output: 60, attempts: 2`;
  const models = Object.entries(MODELS).map(([name, own]) => `  ${name}: { ${own}, ${shared} }\n`);
  return `dispatch: [execute.tool.m.ask]
models:
${models.join("")}items:
  m/ask: { model: [${Object.keys(MODELS).join(", ")}], limits: { timeout: 20s, model: { calls: 8, output_tokens: 130 } } }
run: { model: { cost: 0.5 } }
`;
}

const question = (does, more = {}) => ({ text: JSON.stringify({ input: 20, output: 5, ...does }), ...more });
const spend = (model, ...questions) => ({ op: "spend", model, questions });

/** What is done. `requests` is how many the provider gets; `equal: false` where a page sends another one. */
const STEPS = [
  { name: "an answer", do: spend("chat", question({})), requests: 1 },
  { name: "an answer of OpenAI's Responses", do: spend("responses", question({})), requests: 1 },
  { name: "an answer of Anthropic's Messages", do: spend("claude", question({})), requests: 1 },
  { name: "an answer that is streamed natively", do: spend("streamed", question({})), requests: 1, equal: false },
  { name: "several, until the budget shortens them", do: spend("chat", question({ output: 50 }), question({ output: 51 }), question({ output: 52 })), requests: 3 },
  { name: "one more than the budget allows", do: spend("chat", ...[50, 51, 52, 53].map((output) => question({ output }))), requests: 3, ends: "limit" },
  { name: "more calls than the budget allows", do: spend("chat", ...Array.from({ length: 9 }, (_, output) => question({ output }))), requests: 8, ends: "limit" },
  { name: "a provider that counts more than was set aside", do: spend("chat", question({ input: 3_000_000 })), requests: 1, ends: "limit" },
  { name: "an error, then an answer", do: spend("chat", question({ id: "once", errors: [503, null, 503, null] })), requests: 2 },
  { name: "an error every time", do: spend("claude", question({ id: "always", errors: [429, 529, 429, 529] })), requests: 2 },
  { name: "a key that is refused", do: spend("responses", question({ id: "key", errors: [401, 401] })), requests: 1 },
  { name: "a request that is refused", do: spend("chat", question({ id: "refused", errors: [400, 400] })), requests: 1 },
  { name: "no answer in time", do: spend("slow", question({ hold: 3000 })), requests: 1 },
  { name: "a model that is not granted", do: spend("other", question({})), requests: 0 },
  { name: "an empty question", do: spend("chat", { text: "" }), requests: 0 },
  { name: "a provider that tells the key", do: { op: "leak", model: "chat", questions: [JSON.stringify({ tell: true })] }, requests: 1 },
];

/** The component, signed by a key that is trusted with models alone, its graph and its manifests. */
function prepare({ native, root, scratch }, port) {
  const folder = mkdtempSync(join(scratch, "models-"));
  const component = join(folder, ".ai/tools/m/ask.wasm");
  mkdirSync(join(folder, ".ai/tools/m"), { recursive: true });
  const trust = join(folder, "trust.yaml");
  native.call([0], "keys", "generate", "models");
  native.call([0], "trust", "add", "models", "--key", "models", "--items", "m/*", "--may", "model", "--file", trust);
  native.call([0], "build", join(root, "tests/models/guest"), "--id", "m/ask", "--out", component, "--sign-with", "models", "--locked");
  const [graph, caps, without] = ["graph.yaml", "caps.yaml", "without.yaml"].map((name) => join(folder, name));
  writeFileSync(graph, GRAPH);
  writeFileSync(caps, manifest(port));
  writeFileSync(without, manifest(port).replace(/items:\n.*\n/, ""));
  return { graph, caps, trust, without };
}

/** Does each step natively and in the page; gives the runs, with the files of their exports. */
async function compare(given, { files, page, server, scratch }) {
  const differences = [];
  const runs = [];
  let [requests, entries] = [0, 0];
  for (const [number, { name, do: what, requests: expected, ends, equal = true }] of STEPS.entries()) {
    const run = `models-${number}`;
    const natively = given.native.run(run, { ...files, inputs: { do: JSON.stringify(what) }, codes: [0, 4, 5, 7], env: { PROVIDER_KEY: KEY } });
    const sentNatively = await server.seen();
    const found = await page.run(run, { inputs: { do: what } });
    const sent = await server.seen();
    assert.equal(natively.error?.category, ends, `${name}: ${JSON.stringify(natively)}`);
    assert.deepEqual([sentNatively.length, sent.length], [expected, expected], `${name}: requests: ${found.output}`);
    for (const { key } of sent) assert.equal(key.replace(/^Bearer /, ""), KEY, name);
    const shown = (one, error) => JSON.stringify([one.status, one.fuel, one.checkpoints, error?.category, error?.message]);
    const sides = [
      [shown(natively, natively.error), shown(found, natively.error && JSON.parse(found.output))],
      ...(equal ? [[JSON.stringify(sentNatively), JSON.stringify(sent)]] : []),
    ];
    const [file, own] = [join(scratch, `${run}.jsonl`), join(scratch, `${run}-page.jsonl`)];
    given.native.call([0], "runs", "export", run, "--output", file);
    const [download] = await Promise.all([page.page.waitForEvent("download"), page.page.click("#export")]);
    await download.saveAs(own);
    const [kept, ofPage] = [file, own].map((path) => readFileSync(path, "utf8"));
    assert.ok(![kept, ofPage, found.output, JSON.stringify(natively)].some((text) => text.includes(KEY)), `${name}: the key is in what was kept or shown`);
    // The mock server draws what it says that the model has thought.
    const drawn = /"encrypted_content":"[^"]*","id":"rs-[^"]*"/g;
    const entriesOf = (exported) => journals(exported).join("\n").replace(drawn, "");
    sides.push([entriesOf(kept), entriesOf(ofPage)]);
    for (const [a, b] of sides) if (a !== b) differences.push(`${name}:\nnative ${a}\npage   ${b}`);
    requests += sent.length;
    entries += journals(ofPage).length;
    runs.push({ name, run, file, own });
  }
  assert.deepEqual(differences, [], differences.join("\n\n"));
  console.log(`${runs.length} runs that ask models: equal digests, fuel and words, ${requests} requests with the key, and ${entries} equal entries of their journals`);
  return runs;
}

/** Replays native runs in the page and the page's runs natively: nobody answers any more, and there is no key. */
async function replayAll(native, page, runs, key, { graph, trust }) {
  for (const { name, file } of runs) {
    const { said: told, message } = await replayed(page, choose(page, file));
    assert.equal(message, "", name);
    assert.match(told, /replays equal/, `${name}: ${told}`);
  }
  const other = new Native(native.binary);
  for (const { name, run, own } of runs) {
    other.call([0], "runs", "import", own, "--identity", key);
    const sources = ["--trust", trust, "--items", join(dirname(graph), ".ai/tools")];
    assert.equal(other.json([0], "replay", run, ...sources).equal, true, name);
  }
  console.log(`${runs.length} native runs replay in the page and ${runs.length} runs of the page natively, without the provider and its key`);
}

export async function models(given) {
  if (spawnSync("cargo", ["--version"]).status !== 0) {
    console.log("left out: without cargo, the component is not built");
    return;
  }
  const { native, browser, root, scratch } = given;
  const server = await provider(KEY);
  const { without, ...files } = prepare(given, server.port);
  const out = join(scratch, "sites/models");
  // A bundle needs no key.
  bundleGraph(out, files, { native, assets: join(root, "host/bundle/assets") });
  assert.match(readFileSync(join(out, "index.html"), "utf8"), new RegExp(`connect-src 'self' http://127.0.0.1:${server.port};`));

  // What a manifest does not grant is refused before the run, in the words of the command line.
  const copy = join(scratch, "sites/models-refused");
  cpSync(out, copy, { recursive: true });
  const document = JSON.parse(readFileSync(join(copy, "bundle.json"), "utf8"));
  document.manifest.text = readFileSync(without, "utf8");
  writeFileSync(join(copy, "bundle.json"), JSON.stringify(document));
  seal(copy);
  const [first] = (await said(browser, copy)).split("\n");
  assert.match(first, /graph-host:host\/model/);
  const { stderr } = native.call([4], "run", files.graph, "--caps", without, "--trust", files.trust);
  assert.ok(flat(stderr).includes(flat(first)), `the page says\n${first}\nand the command line\n${stderr}`);

  const site = await serve(out);
  const page = await Page.open(browser, `http://localhost:${site.port}/`);
  try {
    assert.deepEqual([await page.message(), await page.problems()], ["", []]);
    await assert.rejects(page.run("without", { inputs: { do: STEPS[0].do } }), /enter the key of the model `chat` first/);
    const fields = await page.page.locator("#secrets input").all();
    assert.equal(fields.length, Object.keys(MODELS).length);
    for (const field of fields) await field.fill("short");
    await assert.rejects(page.run("short", { inputs: { do: STEPS[0].do } }), /cannot be used: it has to be 8 to 8192 bytes of visible ASCII/);
    for (const field of fields) await field.fill(KEY);
    const runs = await compare(given, { files, page, server, scratch });
    const key = join(scratch, "models-page.pem");
    const [download] = await Promise.all([page.page.waitForEvent("download"), page.page.click("#export-key")]);
    await download.saveAs(key);
    assert.ok(!(await page.page.content()).includes(KEY));
    server.close();
    await page.context.setOffline(true);
    for (const field of fields) await field.fill("");
    // A browser reports answers that are errors, which the provider was asked for.
    page.errors.length = 0;
    await replayAll(native, page, runs, key, files);
  } finally {
    await page.close();
    site.close();
    server.close();
  }
}
