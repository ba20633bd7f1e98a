// Compares the vectors and the results of searches that a WebAssembly module computes with those of native code.
// Usage: node compare.mjs MODULE VECTORS

import { readFileSync } from "node:fs";

const [modulePath, vectorsPath] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(modulePath), {});
const { allocate, vector, ranking, memory } = instance.exports;

// Memory moves when it grows, so a view of it is only good until the next call.
const textOf = (computed, document) => {
  const bytes = new TextEncoder().encode(document);
  const at = allocate(bytes.length) >>> 0;
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const result = BigInt.asUintN(64, computed(at, bytes.length));
  const [start, length] = [Number(result >> 32n), Number(result & 0xffffffffn)];
  return new TextDecoder().decode(new Uint8Array(memory.buffer, start, length));
};

let records = 0;
let different = 0;
const vectors = JSON.parse(readFileSync(vectorsPath, "utf8"));
for (const { file, document, vector: recorded, ranking: searched } of vectors) {
  const expected = `${recorded}\n${searched}`;
  const actual = `${textOf(vector, document)}\n${textOf(ranking, document)}`;
  records += expected.split("\n").filter((line) => line.includes("sha256:")).length;
  if (actual === expected) continue;
  different += 1;
  const [wanted, found] = [expected.split("\n"), actual.split("\n")];
  const line = Math.max(0, found.findIndex((text, index) => text !== wanted[index]));
  console.log(`${file}: line ${line + 1} of the vector differs\n  native: ${wanted[line]}\n  wasm:   ${found[line]}`);
}
// Too few would show nothing.
if (vectors.length < 100 || records < 1000) {
  console.log(`only ${vectors.length} graphs with ${records} records were compared`);
  process.exit(1);
}
console.log(`${vectors.length} graphs with ${records} records: ${different} differ between native code and WebAssembly`);
process.exit(different === 0 ? 0 : 1);
