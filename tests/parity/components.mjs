// Runs components in V8 as a page has them, and compares the fuel with that of the engine of graph-host, which its test has printed.
// Usage: node components.mjs FOLDER.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);

// Imports are there and trap when they are called: `describe` calls none, and what `run` is given leads to none.
const traps = () => {
  const trap = function () {
    throw new Error("an import was called");
  };
  return new Proxy(trap, { get: (of, name) => (name === "prototype" || typeof name === "symbol" ? of[name] : traps()) });
};
const activation = {
  runId: "{}", rootRunId: "{}", parentRunId: undefined, graphId: "{}", nodeId: "{}", superstep: 1n, task: "{}", attempt: 1,
  visit: 1n, argument: undefined, answers: [], idempotencyKey: "{}",
};
const calls = { describe: (action) => action.describe(), run: (action) => action.run(activation, "{}") };

const fail = (text) => {
  console.log(text);
  process.exit(1);
};

const listed = JSON.parse(readFileSync(join(folder, "components.json"), "utf8"));
const table = readFileSync(join(folder, "table"), "utf8").matchAll(/(\S+\.wa[st]m?) +(\d+|trap) +(\d+|trap)/g);
const expected = new Map(Array.from(table, ([, component, describe, run]) => [component, { describe, run }]));
console.log(`${"component".padEnd(56)} ${"describe".padStart(12)} ${"run".padStart(12)}   fuel, in wasmtime and V8`);
let [limits, left] = [0, 0];
for (const { component, file, pages } of listed) {
  const place = join(folder, file);
  // Adapters between components have the memories of both, which older releases of Node.js do not take. Browsers do.
  if (component.startsWith("tests/parity/nested/") && !Object.keys(pages).every((name) => WebAssembly.validate(readFileSync(join(place, name))))) {
    left += 1;
    console.log(`${component.padEnd(56)} is left out: this Node.js has no modules with several memories`);
    continue;
  }
  const { instantiate } = await import(pathToFileURL(join(place, "component.mjs")).href);
  const [compiled, names] = [new Map(), new Map()];
  const module = (path) => {
    if (!compiled.has(path)) compiled.set(path, new WebAssembly.Module(readFileSync(join(place, path))));
    names.set(compiled.get(path), path);
    return compiled.get(path);
  };
  // A fresh instance; what its function returned, or threw, and the fuel.
  const call = async (of, limit) => {
    const global = (value, begin) => new WebAssembly.Global({ value, mutable: true }, begin);
    const meter = { fuel: global("i64", -(2n ** 63n)), pages: global("i64", BigInt((64 << 20) / 65536)), stop: global("i32", 0) };
    const instantiateCore = (core, imports) => {
      meter.pages.value -= BigInt(pages[names.get(core)]);
      return WebAssembly.instantiate(core, { ...imports, "graph-host:meter": meter });
    };
    const exports = await instantiate(module, new Proxy({}, { get: () => traps() }), instantiateCore);
    meter.fuel.value = -limit;
    let outcome;
    try {
      outcome = { returned: calls[of](exports["graph-host:node/action@0.1.0"] ?? exports.action) };
    } catch (error) {
      // A failure of the node is a result; what traps is no object of the contract.
      outcome = error instanceof WebAssembly.RuntimeError ? { trapped: error } : { returned: error.payload ?? error };
    }
    if (outcome.trapped) return { trapped: true };
    const used = limit + meter.fuel.value;
    return { ...outcome, fuel: used > limit ? limit : used };
  };
  const row = [];
  for (const of of Object.keys(calls)) {
    const wanted = expected.get(component)[of];
    const found = await call(of, 100_000_000n);
    if (wanted === "trap") {
      if (!found.trapped) fail(`${component}: ${of} returns, and traps in wasmtime`);
      row.push("trap");
      continue;
    }
    if (found.trapped || String(found.fuel) !== wanted) fail(`${component}: ${of} used ${found.fuel} fuel, expected ${wanted}`);
    for (const [limit, stops] of [[found.fuel / 2n, true], [found.fuel + 1n, false]]) {
      const stopped = (await call(of, limit)).trapped ?? false;
      if (stopped !== stops) fail(`${component}: with ${limit} fuel, ${of} ${stopped ? "stops" : "returns"}`);
      limits += 1;
    }
    row.push(found.fuel);
  }
  console.log(`${component.padEnd(56)} ${String(row[0]).padStart(12)} ${String(row[1]).padStart(12)}`);
}
console.log(`${listed.length - left} components use the same fuel, and stop at ${limits} limits as they have to`);
