// Makes the calls of instrumented modules in V8, and compares results, fuel, memories and globals with those of the engine of
// graph-host. Usage: node compare.mjs FOLDER

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const expected = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"));
const view = new DataView(new ArrayBuffer(8));
const counts = { modules: 0, unsupported: 0, calls: 0, completed: 0, stack: 0 };

const argument = ([type, bits]) => {
  const value = BigInt(bits);
  switch (type) {
    case "i32":
      return Number(BigInt.asIntN(32, value));
    case "i64":
      return BigInt.asIntN(64, value);
    case "f32":
      view.setUint32(0, Number(value));
      return view.getFloat32(0);
    case "f64":
      view.setBigUint64(0, value);
      return view.getFloat64(0);
    default:
      return null;
  }
};

// The bits of a value as the engine's test writes them. A NaN has no bits in JavaScript.
const bits = (type, value) => {
  switch (type) {
    case "i32":
      return `i32 ${value >>> 0}`;
    case "i64":
      return `i64 ${BigInt.asUintN(64, value)}`;
    case "f32":
      if (Number.isNaN(value)) return "f32 NaN";
      view.setFloat32(0, value);
      return `f32 ${view.getUint32(0)}`;
    case "f64":
      if (Number.isNaN(value)) return "f64 NaN";
      view.setFloat64(0, value);
      return `f64 ${view.getBigUint64(0)}`;
    default:
      return `ref ${value === null ? 0 : 1}`;
  }
};
const isNaNOf = { f32: (n) => (n & 0x7fffffffn) > 0x7f800000n, f64: (n) => (n & 0x7fffffffffffffffn) > 0x7ff0000000000000n };
const asExpected = (text) => {
  const [type, digits] = text.split(" ");
  return isNaNOf[type]?.(BigInt(digits)) ? `${type} NaN` : text;
};

const fail = (text) => {
  console.log(text);
  process.exit(1);
};

for (const [number, calls] of expected.entries()) {
  const described = JSON.parse(readFileSync(join(folder, `${number}.json`), "utf8"));
  counts.modules += 1;
  if (calls.length === 0) continue;
  const meter = {
    fuel: new WebAssembly.Global({ value: "i64", mutable: true }, -1_000_000_000n),
    pages: new WebAssembly.Global({ value: "i64", mutable: true }, BigInt(described.memory / 65536 - described.pages)),
    stop: new WebAssembly.Global({ value: "i32", mutable: true }, 0),
  };
  let module;
  try {
    module = new WebAssembly.Module(readFileSync(join(folder, `${number}.metered.wasm`)));
  } catch {
    // A proposal that this V8 does not have yet.
    counts.unsupported += 1;
    continue;
  }
  const { exports } = new WebAssembly.Instance(module, { "graph-host:meter": meter });
  // In the order of the module: an object has names that are numbers first.
  const exported = WebAssembly.Module.exports(module).map(({ name }) => exports[name]);
  for (const [place, wanted] of calls.entries()) {
    const call = described.calls[place];
    const limit = BigInt(call.limit);
    meter.fuel.value = -limit;
    meter.stop.value = 0;
    let results = null;
    let stop = null;
    try {
      const returned = exports[call.export](...call.arguments.map(argument));
      results = Array.isArray(returned) ? returned : returned === undefined ? [] : [returned];
    } catch (error) {
      if (error instanceof RangeError) stop = "stack";
      else stop = { 0: "trap", 1: "fuel", 2: "memory", 3: "table" }[meter.stop.value];
    }
    const where = `module ${number}, call ${place} of ${call.export}`;
    if (stop === "stack") {
      counts.stack += 1;
      break;
    }
    counts.calls += 1;
    if (stop !== wanted.stop) fail(`${where}: it stopped by ${stop}, expected ${wanted.stop}`);
    if (results) {
      counts.completed += 1;
      const found = results.map((value, at) => bits(wanted.results[at].split(" ")[0], value));
      const texts = wanted.results.map(asExpected);
      if (found.join() !== texts.join()) fail(`${where}: it returned ${found}, expected ${texts}`);
      const used = limit + meter.fuel.value;
      const fuel = Number(used > limit ? limit : used);
      if (fuel !== wanted.fuel) fail(`${where}: it used ${fuel} fuel, expected ${wanted.fuel}`);
    }
    const memories = exported
      .filter((item) => item instanceof WebAssembly.Memory)
      .map((memory) => createHash("sha256").update(new Uint8Array(memory.buffer)).digest("hex"));
    if (memories.join() !== wanted.memories.join()) fail(`${where}: its memory differs`);
    const globals = exported.filter((item) => item instanceof WebAssembly.Global);
    for (const [at, global] of globals.entries()) {
      const [type] = wanted.globals[at].split(" ");
      // JavaScript cannot read these.
      if (type === "v128") continue;
      const found = bits(type, global.value);
      if (found !== asExpected(wanted.globals[at])) fail(`${where}: global ${at} is ${found}, expected ${wanted.globals[at]}`);
    }
  }
}
console.log(JSON.stringify(counts));
if (counts.calls < expected.length || counts.unsupported * 2 > counts.modules) fail("too little was compared");

let before = 0;
let after = 0;
const modules = JSON.parse(readFileSync(join(folder, "modules.json"), "utf8"));
// Adapters between components have the memories of both, which older releases of Node.js do not take. Browsers do.
const takesMemories = WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 5, 5, 2, 0, 1, 0, 1]));
for (const module of modules) {
  if (!takesMemories && module.component.startsWith("tests/parity/nested/")) continue;
  if (!WebAssembly.validate(readFileSync(join(folder, module.file))))
    fail(`${module.component}, module ${module.module}: V8 refuses what was instrumented`);
  before += module.before;
  after += module.after;
}
console.log(`V8 takes the ${modules.length} core modules of all components: ${before} bytes, ${after} instrumented`);
