// Components that wait for the world: requests, secrets, knowledge, other items. The same calls natively and in the page, against one server.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { seal } from "./bundle.mjs";
import { loopback } from "./loopback.mjs";
import { Page } from "./page.mjs";
import { bundleGraph } from "./prepare.mjs";
import { serve } from "./serve.mjs";

const SECRET = "s3cr3t-value-of-a-test";

const manifest = (port) => `dispatch: [execute.tool.examples.testkit, execute.tool.examples.testkit-net, execute.tool.examples.testkit-io]
items:
  examples/testkit-net:
    http:
      - { host: localhost, schemes: [http], ports: [${port}, 1], methods: [GET, POST], addresses: [127.0.0.1, "::1"] }
      - { host: 127.0.0.1, schemes: [http], ports: [${port}], methods: [GET], addresses: [127.0.0.1] }
    secrets: [{ name: TOKEN, from: { env: REACH_TOKEN }, header: authorization, host: localhost, schemes: [http] }]
    knowledge: [{ scope: notes/, access: rw }, { scope: facts/, access: ro }]
    tools: true
    limits: { timeout: 3s, requests: 5 }
  examples/testkit-io: { clocks: true, random: true, filesystem: [{ path: ., as: /src }] }
run: { depth: 2 }
`;

const net = "examples/testkit-net";
const kit = "examples/testkit";

/** What is done, in this order: knowledge stays. `words: false` where only the category of the failure has to be equal, `journal: false`  * where the entry has other words. */
const steps = (url, other) => [
  { do: { op: "knowledge-get", key: "notes/seed" } },
  { do: { op: "knowledge-get", key: "notes/none" } },
  { do: { op: "knowledge-put", key: "notes/fox", text: "The quick brown fox\njumps over the café, and a fox again" } },
  { do: { op: "knowledge-put", key: "notes/deep/paint", text: "A quick note, and another quick note about brown paint" } },
  { do: { op: "knowledge-put", key: "notes/long", text: `${"much else ".repeat(60)}brown quick ${"and more ".repeat(60)}` } },
  { do: { op: "knowledge-get", key: "notes/fox" } },
  { do: { op: "knowledge-list", prefix: "notes/", limit: 10 } },
  { do: { op: "knowledge-list", prefix: "notes/", after: "notes/deep/paint", limit: 1 } },
  { do: { op: "knowledge-search", prefix: "notes/", query: "QUICK brown" } },
  { do: { op: "knowledge-search", prefix: "notes/", query: "cafe" } },
  { do: { op: "knowledge-search", prefix: "notes/", query: '"quick note" paint' } },
  { do: { op: "knowledge-search", prefix: "notes/", query: "fox OR (brown" } },
  { do: { op: "knowledge-search", prefix: "notes/", query: "!" } },
  // Equal scores, and characters whose words are a matter of tables.
  { do: { op: "knowledge-put", key: "notes/tie/b", text: "the same words, word for word" } },
  { do: { op: "knowledge-put", key: "notes/tie/a", text: "the same words, word for word" } },
  { do: { op: "knowledge-put", key: "notes/words", text: "Ärger tür-tür ΑΛΦΑ ἄλφα 日本語 ǅ \u{1f916} \u{1f600} हिन्दी İstanbul the quick fox, quick as a fox" } },
  ...["same word", '"word for word"', "words the", "arger", "tur", "αλφα", "日本語", "\u{1f916}", "\u{1f600}", "\u{1f600} fox", "हिन्दी", "istanbul", "quick QUICK fox", '"a fox" quick'].map(
    (query) => ({ do: { op: "knowledge-search", prefix: "notes/", query } }),
  ),
  { do: { op: "knowledge-get", key: "other/a" } },
  { do: { op: "knowledge-put", key: "facts/a", text: "no" } },
  { do: { op: "knowledge-put", key: "notes/../a", text: "no" } },
  { do: { op: "fetch", url: `${url}/text` } },
  { do: { op: "fetch", url: `${url}/echo?a=b`, method: "POST", fields: { "x-own": "ü" }, body: "what is sent" } },
  { do: { op: "fetch", url: `${url}/echo`, method: "POST", body: "streamed", streamed: true, times: 3 } },
  { do: { op: "fetch", url: `${url}/missing` } },
  { do: { op: "fetch", url: `${url}/large` } },
  { do: { op: "fetch", url: `${url}/closed` }, words: false },
  { do: { op: "fetch", url: `${url}/never` } },
  { do: { op: "fetch", url: `${url}/text`, method: "PUT" } },
  // Why there is no connection, a page is not told.
  { do: { op: "fetch", url: "http://localhost:1/" }, journal: false },
  { do: { op: "fetch", url: "http://localhost:2/" } },
  { do: { op: "fetch", url: "https://localhost/" } },
  { do: { op: "fetch", url: "http://elsewhere.example/" } },
  { do: { op: "fetch", url: "http://user@localhost/" } },
  { do: { op: "fetch", url: "http://localhost:99999/" } },
  { do: { op: "fetch", url: `${url}/text`, fields: { host: "elsewhere" } } },
  { do: { op: "fetch", url: `${url}/text`, times: 6 } },
  { do: { op: "secret", url: `${url}/authorized`, name: "TOKEN" } },
  { do: { op: "secret", url: `${url}/authorized`, name: "TOKEN", field: "x-own" } },
  { do: { op: "secret", url: `${other}/authorized`, name: "TOKEN" } },
  { do: { op: "secret", url: `${url}/authorized`, name: "OTHER" } },
  { do: { op: "call", item: kit, params: { op: "echo", value: { a: [1, "ü"], large: 18446744073709551615n } } } },
  { do: { op: "call", item: kit, params: { op: "emit", name: "an/event", count: 2, text: "x" }, times: 2 } },
  { do: { op: "call", item: kit, params: { op: "fail", category: "rate-limited", message: "not now" } } },
  { do: { op: "call", item: kit, params: { op: "trap" } } },
  { do: { op: "call", item: kit, params: { op: "spin", iterations: 18446744073709551615n } } },
  { do: { op: "call", item: kit, params: { op: "command", update: {}, goto: [] } } },
  { do: { op: "call", item: kit, params: { op: "activation" } } },
  { do: { op: "call", item: "examples/testkit-io", params: { op: "now" } } },
  { do: { op: "call", item: "examples/elsewhere", params: {} } },
  { do: { op: "call", item: net, params: { op: "fetch", url: `${url}/text` } } },
  { do: { op: "call", item: net, params: { op: "fetch", url: `${url}/never` } } },
  { do: { op: "call", item: net, params: { op: "call", item: net, params: { op: "knowledge-get", key: "notes/fox" } } } },
  { do: { op: "call", item: net, params: { op: "call", item: net, params: { op: "call", item: kit, params: { op: "echo", value: 1 } } } } },
];

const json = (value) => JSON.stringify(value, (_, one) => (typeof one === "bigint" ? `\u0000${one}\u0000` : one)).replace(/"\\u0000(\d+)\\u0000"/g, "$1");

/** A bundle of a graph with the component that reaches the world; the server that it reaches. */
async function prepare({ native, root, tree, scratch }) {
  const server = await loopback();
  const folder = join(tree, "examples/nodes/reach");
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, "tests/browser/graphs/reach.yaml"), join(folder, "reach.yaml"));
  writeFileSync(join(folder, "caps.yaml"), manifest(server.port));
  // What the key of the examples signs may reach nothing there.
  const trust = readFileSync(join(tree, "examples/trust.yaml"), "utf8");
  writeFileSync(join(folder, "trust.yaml"), trust.replace(/kinds: \[.*\]/, "kinds: [log, clocks, random, filesystem, http, secrets, knowledge, tools]"));
  const files = { graph: join(folder, "reach.yaml"), caps: join(folder, "caps.yaml"), trust: join(folder, "trust.yaml") };
  const codes = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const run = (name, text) => native.run(name, { ...files, inputs: { do: text }, codes, env: { REACH_TOKEN: SECRET } });
  run("reach-seed", json({ op: "knowledge-put", key: "notes/seed", text: "was there before" }));
  const out = join(scratch, "sites/reach");
  // Without the variable: a bundle needs no secret.
  bundleGraph(out, files, { native, assets: join(root, "host/bundle/assets") });
  return { server, out, run };
}

/** The entries of the journals in an exported run, without what only one side sees of a response: its fields, and how many bytes came. */
export function journals(lines) {
  const bodies = lines.split("\n").filter(Boolean).map((line) => JSON.parse(line).record?.body).filter(Boolean).map((body) => JSON.parse(body));
  const found = [];
  const visit = (value) => {
    if (typeof value !== "object" || value === null) return;
    if (!("interface" in value && "request" in value)) return Object.values(value).forEach(visit);
    const { interface: of, function: name, ok, request, result } = value;
    const { fields: _, received: __, host: ___, ...seen } = typeof result === "object" && result !== null && !Array.isArray(result) ? result : { result };
    found.push(JSON.stringify([of, name, ok, request, seen]));
  };
  visit(bodies);
  // A page keeps what tasks have written next to the checkpoint that commits it.
  return [...new Set(found)];
}

export async function reach(given) {
  const { server, out, run } = await prepare(given);
  const site = await serve(out);
  const page = await Page.open(given.browser, `http://localhost:${site.port}/`);
  const differences = [];
  const exports = [];
  let [equal, entries] = [0, 0];
  try {
    assert.deepEqual([await page.message(), await page.problems()], ["", []]);
    // Without the secret, and with a value that no header can have, nothing begins.
    await assert.rejects(page.run("without", { text: "{}" }), /enter the value of the secret `TOKEN` first/);
    await page.page.fill("#secrets input", "short");
    await assert.rejects(page.run("short", { text: "{}" }), /cannot be used: it has to be 8 to 8192 bytes of visible ASCII/);
    await page.page.fill("#secrets input", SECRET);
    const url = `http://localhost:${server.port}`;
    for (const [number, { do: what, words = true, journal = words }] of steps(url, `http://127.0.0.1:${server.port}`).entries()) {
      const name = `reach-${number}`;
      const text = json(what);
      const expected = run(name, text);
      const found = await page.run(name, { text: `{"do":${text}}` });
      const shown = (one, error) => JSON.stringify([one.status, one.fuel, one.checkpoints, error && (words ? error.message : error.category)]);
      const [a, b] = [shown(expected, expected.error), shown(found, expected.error && JSON.parse(found.output))];
      if (a === b) equal += 1;
      else differences.push(`${text.slice(0, 200)}:\nnative ${a}\npage   ${b}\n${JSON.stringify(expected.output)} ${found.output}`);
      const [download] = await Promise.all([page.page.waitForEvent("download"), page.page.click("#export")]);
      const exported = readFileSync(await download.path(), "utf8");
      assert.ok(!exported.includes(SECRET));
      const file = join(given.scratch, `${name}.jsonl`);
      given.native.call([0], "runs", "export", name, "--output", file);
      exports.push([`${name}, ${text.slice(0, 200)}`, file]);
      const [kept, own] = [readFileSync(file, "utf8"), exported].map(journals);
      if (journal && JSON.stringify(kept) !== JSON.stringify(own)) differences.push(`${text.slice(0, 200)}:\nnative ${kept.join("\n")}\npage   ${own.join("\n")}`);
      entries += own.length;
      assert.ok(!found.output.includes(SECRET) && !JSON.stringify(expected).includes(SECRET));
    }
    const seen = await server.seen("/authorized");
    // Natively and in the page, once with the value and once with the handle in another field.
    assert.deepEqual(seen.map(({ headers }) => headers.authorization ?? headers["x-own"]), [`Bearer ${SECRET}`, `Bearer ${SECRET}`, "Bearer {{secret:TOKEN}}", "Bearer {{secret:TOKEN}}"]);
    assert.ok(!(await page.page.content()).includes(SECRET));
    // What was recorded natively replays without the network, and without the secret.
    server.close();
    await page.context.setOffline(true);
    await page.page.fill("#secrets input", "");
    for (const [name, file] of exports) {
      await page.page.setInputFiles("#replay-file", file);
      await page.page.waitForFunction(() => document.getElementById("cancel").disabled && !document.getElementById("replay-file").disabled);
      const said = await page.text("#replayed");
      if (!said.includes("replays equal")) differences.push(`${name}: ${said} ${await page.message()}`);
    }
  } finally {
    await page.close();
    site.close();
    server.close();
  }
  assert.deepEqual(differences, [], differences.join("\n\n"));
  console.log(`${equal} calls of the world: equal digests, fuel and words, and ${entries} equal entries of their journals; ${exports.length} native runs replay in the page`);
}

/** Writes so many texts of 1 MiB into the knowledge of a page, within the page. */
async function fill(count) {
  const of = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  const database = await of(indexedDB.open("graph-host-knowledge"));
  const store = () => database.transaction(["entries"], "readwrite").objectStore("entries");
  const [[place]] = await of(store().getAllKeys());
  const text = "a b ".repeat(1 << 18);
  for (let number = 0; number < count; number += 1) await of(store().put(text, [place, `notes/large/${number}`]));
  database.close();
}

/** Knowledge outlasts the page, and a search ends however much there is. */
export async function remembered(given) {
  const { server, out } = await prepare(given);
  const site = await serve(out);
  const page = await Page.open(given.browser, `http://localhost:${site.port}/`);
  const entered = async (name, what) => {
    await page.page.fill("#secrets input", SECRET);
    return JSON.parse((await page.run(name, { text: json({ do: what }) })).output);
  };
  try {
    await entered("put", { op: "knowledge-put", key: "notes/kept", text: "kept by the browser" });
    await page.page.reload();
    await page.page.waitForFunction(() => document.getElementById("loading")?.hidden === true);
    assert.equal((await entered("get", { op: "knowledge-get", key: "notes/kept" })).answer, "kept by the browser");
    const [hit] = (await entered("search", { op: "knowledge-search", prefix: "notes/", query: "browser" })).answer;
    assert.deepEqual(hit, { key: "notes/kept", excerpt: "kept by the browser" });
    // More than any machine looks at in the second that a search may take.
    await page.page.evaluate(fill, 240);
    const late = await entered("late", { op: "knowledge-search", prefix: "notes/", query: "browser" });
    assert.match(JSON.stringify(late), /the search took longer than 1 s: a page looks at the whole text of every entry, and has read \d+ MiB/);
    assert.equal((await entered("again", { op: "knowledge-get", key: "notes/kept" })).answer, "kept by the browser");
  } finally {
    await page.close();
    site.close();
    server.close();
  }
  console.log("what a run wrote is found after a reload, and a search in 240 MiB ends after a second");
}

/** A browser without JSPI runs what does not wait, and refuses the rest before it starts. No flag of Chromium takes JSPI away: its workers do. */
export async function withoutJspi(given) {
  const { server, out } = await prepare(given);
  const sites = [out, join(given.sites, "etl")].map((site, place) => {
    const copy = join(given.scratch, `without-jspi-${place}`);
    cpSync(site, copy, { recursive: true });
    const worker = join(copy, "assets/worker.js");
    writeFileSync(worker, `delete WebAssembly.Suspending;\n${readFileSync(worker, "utf8")}`);
    seal(copy);
    return copy;
  });
  const servers = await Promise.all(sites.map(serve));
  try {
    const [reaching, plain] = await Promise.all(servers.map(({ port }) => Page.open(given.browser, `http://localhost:${port}/`)));
    const [problem] = await reaching.problems();
    assert.match(problem, /components of `probe` wait for the host, which takes JavaScript Promise Integration \(JSPI\)/);
    assert.equal(await reaching.page.locator("#begin").isVisible(), false);
    assert.equal((await plain.run("plain")).status, "completed");
    await Promise.all([reaching.close(), plain.close()]);
  } finally {
    for (const one of servers) one.close();
    server.close();
  }
  console.log("without JSPI: `etl` runs, and what waits is refused");
}
