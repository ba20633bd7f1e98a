// Runs of the command line, replayed in the page without server and network: every checkpoint, damaged files, and differences.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { EXAMPLES } from "./examples.mjs";
import { linesOf, resealed, resigned } from "./exports.mjs";
import { Native } from "./native.mjs";
import { Page } from "./page.mjs";
import { bundleExample } from "./prepare.mjs";
import { serve } from "./serve.mjs";

/** Runs an example natively, and exports it. */
export function recorded(native, { name, run, tree, scratch, graph = "graph.yaml", folder = `examples/${name}`, ...options }) {
  const at = join(tree, folder);
  const files = { graph: join(at, graph), caps: join(at, "caps.yaml"), trust: join(tree, "examples/trust.yaml") };
  native.run(run, { ...files, ...options });
  const file = join(scratch, `${run}.jsonl`);
  native.call([0], "runs", "export", run, "--output", file);
  return file;
}

/** Opens a site, and takes server and network away. */
export async function opened(browser, site) {
  const server = await serve(site);
  const page = await Page.open(browser, `http://localhost:${server.port}/`);
  assert.deepEqual([await page.message(), await page.problems()], ["", []]);
  await page.context.setOffline(true);
  server.close();
  return page;
}

/** Replays, and gives what the page says and its rows. */
export async function replayed(page, begin) {
  await begin();
  const idle = () => document.getElementById("cancel").disabled && !document.getElementById("replay-file").disabled;
  await page.page.waitForFunction(idle, null, { timeout: 120_000 });
  assert.deepEqual(page.errors, []);
  const rows = await page.page.evaluate(() => Array.from(document.querySelectorAll("#replay-steps tr"), (row) => Array.from(row.cells, (cell) => cell.textContent)));
  return { said: await page.text("#replayed"), message: await page.message(), rows };
}

export const choose = (page, file) => () => page.page.setInputFiles("#replay-file", file);

/** The same rows, of the command line. */
export function expectedOf(native, run) {
  const { supersteps, equal } = native.json([0], "replay", run);
  assert.equal(equal, true);
  const { history } = native.json([0], "runs", "show", run);
  const results = new Map(history.map(({ checkpoint, result_digest: result }) => [checkpoint, result]));
  return supersteps.map(({ namespace, step, checkpoint, made_by: made, nodes, fuel, equal: same }) => {
    const what = made === "superstep" ? nodes.join(", ") : made;
    return [namespace || run, String(step), what, String(fuel), namespace ? undefined : results.get(checkpoint), same ? "equal" : "different"];
  });
}

/** Every checkpoint of every example is equal, also with the run in the bundle. */
export async function replays({ native, browser, sites, tree, scratch, root }) {
  let checkpoints = 0;
  for (const [number, { name, inputs = {}, suspensions = [] }] of EXAMPLES.entries()) {
    const run = `replay-${number}`;
    const file = recorded(native, { name, run, tree, scratch, inputs, suspensions });
    const packed = name === "approval" || name === "nested-graphs";
    const site = packed ? join(scratch, "packed", name) : join(sites, name);
    if (packed) bundleExample(site, name, { native, tree, assets: join(root, "host/bundle/assets"), replay: file });
    const page = await opened(browser, site);
    assert.equal(await page.page.locator("#replay").isVisible(), packed);
    const { said, message, rows } = await replayed(page, packed ? () => page.page.click("#replay") : choose(page, file));
    assert.equal(message, "");
    assert.match(said, /replays equal/, `${name}: ${said}`);
    const expected = expectedOf(native, run);
    // The digests of child runs are not in what the command line shows of a run.
    assert.deepEqual(rows.map((row, at) => (expected[at]?.[4] === undefined ? row.with(4, undefined) : row)), expected, name);
    checkpoints += rows.length;
    // Nothing of a replay is stored.
    assert.equal(await page.page.locator("#runs li").count(), 0);
    await page.close();
  }
  console.log(`${EXAMPLES.length} runs of the examples: ${checkpoints} checkpoints replay equal without server and network`);
}

/** A file that was damaged, cut off or put together is refused, with what is wrong and where. */
export async function damaged({ native, browser, sites, tree, scratch }) {
  const suspensions = ["louder", "accept"];
  const file = recorded(native, { name: "approval", run: "damaged-1", tree, scratch, suspensions });
  const other = recorded(native, { name: "approval", run: "damaged-2", tree, scratch, suspensions });
  const foreign = recorded(native, { name: "etl", run: "damaged-3", tree, scratch });
  const bytes = readFileSync(file);
  const lines = linesOf(file);
  const copy = join(scratch, "damaged.jsonl");
  const page = await opened(browser, join(sites, "approval"));
  let tried = 0;
  const refused = async (what, content, words) => {
    writeFileSync(copy, content);
    const { said, message, rows } = await replayed(page, choose(page, copy));
    assert.match(message, words, `${what}: ${message || said}`);
    assert.deepEqual([said, rows], ["", []], what);
    tried += 1;
    return message;
  };
  for (let part = 1; part < 24; part += 1) {
    const flipped = Buffer.from(bytes);
    flipped[Math.floor((bytes.length * part) / 24)] ^= 1;
    await refused(`a flipped byte, ${part} of 24`, flipped, /damaged at line \d+|does not say so|digest/);
  }
  const text = bytes.toString();
  await refused("cut within a line", text.slice(0, -100), /line \d+: it ends within a line: it is not whole/);
  await refused("without its last line", `${text.trimEnd().split("\n").slice(0, -1).join("\n")}\n`, /it was cut off/);
  await refused("without a line", text.split("\n").toSpliced(-3, 1).join("\n"), /lines are missing/);
  await refused("with more behind its end", `${text}{}\n`, /something follows its last line/);
  await refused("empty", "", /not the file of a run/);
  await refused("no run", "{}\n", /not the file of a run/);
  await refused("another version", text.replace('"version":3', '"version":2'), /version 2, and this page reads version 3/);

  // What is whole by its last line, and was changed nevertheless.
  const change = (work) => {
    const changed = structuredClone(lines);
    work(changed, changed.flatMap((line) => (line.record ? [line.record] : [])));
    return resealed(changed);
  };
  const checkpoint = (records, wanted) => records.find(({ kind, sequence }) => kind === "checkpoint" && sequence === wanted);
  await refused("a changed body", change((_, records) => (checkpoint(records, 2).body = checkpoint(records, 2).body.replace('"step":', '"step":1'))), /was changed: its digest does not match its text/);
  await refused("a changed value", change((_, records) => (records.find(({ values }) => values.length > 0).values[0].json = '"x"')), /checkpoint \d+/);
  await refused("another signature", change((_, records) => (records[1].signature = "A".repeat(86) + "==")), /is not signed by this host's key/);
  await refused("a missing checkpoint", change((all) => all.splice(all.findIndex(({ record }) => record?.sequence === 2), 1)), /checkpoint \d+/);
  await refused("a changed text", change((all) => (all.find((line) => line.text).text.text += " ")), /a text of run damaged-1 was changed/);
  await refused("the row of another run", change((all) => (all[1] = linesOf(other)[1])), /the row is of another run/);
  await refused("a record of another run", change((all) => (all[all.findIndex((line) => line.record)] = linesOf(other).find((line) => line.record))), /does not belong there|damaged-2/);
  await refused("another graph", readFileSync(foreign), /run damaged-3 is of another graph: it ran `etl`/);
  await page.close();
  console.log(`${tried} damaged files are refused before anything is executed`);
}

/** What differs is said in the words of the command line, and the steps after it are replayed nevertheless. */
export async function differences({ native, browser, sites, tree, scratch }) {
  const file = recorded(native, { name: "approval", run: "differs", tree, scratch, suspensions: ["louder", "accept"] });
  const lines = linesOf(file);
  const told = [];
  const changes = {
    "a fuel figure": [2, (body) => body.replace(/("attempts":\d+,"dispatches":\d+,(?:"events":\[.*?\],)?"fuel":)\d+/, "$11")],
    "an answer": [2, (body) => body.replace('"answers":["louder"]', '"answers":["accept"]')],
    "a call in a journal": [1, (body) => body.replace(/"function":"[a-z-]+(?:\.[a-z-]+)*"/, '"function":"other"')],
  };
  const page = await opened(browser, join(sites, "approval"));
  for (const [what, [sequence, change]] of Object.entries(changes)) {
    const changed = join(scratch, "changed.jsonl");
    const content = resigned(lines, sequence, (body) => {
      const after = change(body);
      assert.notEqual(after, body, `${what}: ${body}`);
      return after;
    });
    writeFileSync(changed, content);
    const elsewhere = new Native(native.binary);
    elsewhere.call([0], "runs", "import", changed);
    const { stdout } = elsewhere.call([8], "replay", "differs", "--json");
    const { error } = JSON.parse(stdout);
    const { said, message, rows } = await replayed(page, choose(page, changed));
    assert.equal(message, "");
    assert.equal(said, error.message, what);
    assert.ok(rows.length >= lines.filter(({ record }) => record?.kind === "checkpoint").length - 1, what);
    told.push(said);
  }
  await page.close();
  console.log(`${told.length} differences in the words of the command line:\n  ${told.join("\n  ")}`);
}

/** A server in a process of its own, as a native run blocks this one: every answer is another one. */
const SERVER = `let asked = 0;
const server = require("node:http").createServer((request, response) => {
  asked += 1;
  response.setHeader("content-type", "text/plain");
  response.end("answer " + asked + " to " + request.method + " " + request.url);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;

/** Answers of the network are in the journal: the server that gave them has stopped. */
export async function netReplay({ native, browser, tree, scratch, root }) {
  const answers = spawn(process.execPath, ["-e", SERVER], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(answers.stdout, "data");
  const port = Number(String(line));
  const folder = "examples/nodes";
  const fetched = (node, path, next) =>
    `    ${node}: { action: { item_id: examples/testkit-net, params: { op: fetch, url: "http://127.0.0.1:${port}/${path}", times: 2 } }, assign: { ${node}: "\${result}" }, next: ${next} }\n`;
  const head = "version: \"1\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: Asks a server\nconfig:\n  start: a\n  nodes:\n";
  const end = '    end: { type: return, output: { a: "${state.a}", b: "${state.b}" } }\n';
  const grant = `http: [{ host: 127.0.0.1, schemes: [http], ports: [${port}], addresses: [127.0.0.1] }]`;
  mkdirSync(join(tree, folder), { recursive: true });
  writeFileSync(join(tree, folder, "asks.yaml"), head + fetched("a", "one", "b") + fetched("b", "two", "end") + end);
  const caps = join(tree, folder, "caps.yaml");
  const before = readFileSync(caps, "utf8");
  writeFileSync(join(tree, folder, "token"), "not used");
  const trust = join(tree, "examples/trust.yaml");
  const trusted = readFileSync(trust, "utf8");
  writeFileSync(trust, trusted.replace("filesystem", "filesystem, http, secrets, knowledge, tools"));
  writeFileSync(caps, `dispatch: [execute.tool.examples.testkit-net]\nitems:\n  examples/testkit-net:\n    ${grant}\n    tools: true\n    knowledge: [{ scope: notes/ }]\n    secrets: [{ name: TOKEN, from: { file: token }, header: authorization, host: 127.0.0.1, schemes: [http] }]\n`);
  try {
    const run = "net-replay";
    const file = recorded(native, { name: "asks", run, tree, scratch, folder, graph: "asks.yaml" });
    answers.kill();
    await once(answers, "exit");
    const site = join(scratch, "packed", "asks");
    try {
      bundleExample(site, "nodes/asks", { native, tree, assets: join(root, "host/bundle/assets"), replay: file });
    } catch (error) {
      assert.match(error.message, /which a page does not offer/);
      console.log("left out: this release bundles no component that imports `wasi:http`");
      return;
    }
    const page = await opened(browser, site);
    const { said, message, rows } = await replayed(page, () => page.page.click("#replay"));
    assert.equal(message, "");
    assert.match(said, /replays equal/);
    assert.deepEqual(rows, expectedOf(native, run));
    await page.close();
    console.log(`answers of a server that has stopped: ${said}`);
  } finally {
    answers.kill();
    writeFileSync(caps, before);
    writeFileSync(trust, trusted);
  }
}

/** A result that was taken from the cache of the host is used again. */
export async function cached({ native, browser, tree, scratch, root }) {
  const folder = "examples/nodes";
  const action = "action: { item_id: examples/testkit, params: { op: echo, value: 1 } }, cache: { ttl: 1h }";
  const config = `config:\n  start: a\n  nodes:\n    a: { ${action}, next: b }\n    b: { ${action} }\n`;
  const head = 'version: "1"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: Twice the same\n';
  writeFileSync(join(tree, folder, "twice.yaml"), head + config);
  const file = recorded(native, { name: "twice", run: "twice", tree, scratch, folder, graph: "twice.yaml" });
  const site = join(scratch, "packed", "twice");
  bundleExample(site, "nodes/twice", { native, tree, assets: join(root, "host/bundle/assets"), replay: file });
  const page = await opened(browser, site);
  const { said, message, rows } = await replayed(page, () => page.page.click("#replay"));
  assert.equal(message, "");
  assert.match(said, /^Run twice replays equal: 2 supersteps, \d attempts?, 0 answers from the journal, [12] results? from the cache\.$/);
  assert.deepEqual(rows, expectedOf(native, "twice"));
  await page.close();
}

/** A run whose first checkpoints were removed is refused before anything is executed, with the reason. */
export async function unsupported({ native, browser, sites, tree, scratch }) {
  const elsewhere = new Native(native.binary);
  const file = recorded(elsewhere, { name: "approval", run: "shortened", tree, scratch, suspensions: ["louder", "accept"] });
  elsewhere.call([0], "runs", "gc", "--checkpoints", "2");
  rmSync(file);
  elsewhere.call([0], "runs", "export", "shortened", "--output", file);
  const page = await opened(browser, join(sites, "approval"));
  const { said, message, rows } = await replayed(page, choose(page, file));
  assert.match(message, /run shortened cannot be replayed in a page: its first checkpoints were removed\n.*graph-host replay/);
  assert.deepEqual([said, rows], ["", []]);
  await page.close();
}

/** Nothing is stored: a replay needs no storage. */
export async function fullReplay({ native, browser, sites, tree, scratch }) {
  const file = recorded(native, { name: "approval", run: "full-replay", tree, scratch, suspensions: ["accept"] });
  const server = await serve(join(sites, "approval"));
  const url = `http://localhost:${server.port}`;
  const page = await Page.open(browser, url);
  const session = await page.context.newCDPSession(page.page);
  await session.send("Storage.overrideQuotaForOrigin", { origin: url, quotaSize: 1 });
  const { said } = await replayed(page, choose(page, file));
  assert.match(said, /replays equal/);
  await page.close();
  server.close();
}
