// Components that are made from tests/formats/hello.wasm: it gets a table and a memory of some size, and grows them before it answers.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const HEADER = 8;
const CORE_MODULE = 1;
const [FUNCTIONS, TABLES, MEMORIES, CODE] = [3, 4, 5, 10];
/** Where the function `run` is among the functions of the module. */
const RUN = 2;

/** A number in groups of seven bits, the lowest first. */
function unsigned(number) {
  const bytes = [];
  for (; number >= 128; number = Math.floor(number / 128)) bytes.push((number % 128) + 128);
  return [...bytes, number];
}

/** The operand of `i32.const`. */
function signed(number) {
  const bytes = [];
  for (;;) {
    const low = number & 127;
    number >>= 7;
    if ((number === 0 && low < 64) || (number === -1 && low >= 64)) return [...bytes, low];
    bytes.push(low | 128);
  }
}

/** Reads a number; gives it and where it ends. */
function read(bytes, at) {
  let [number, factor] = [0, 1];
  for (; ; at += 1, factor *= 128) {
    number += (bytes[at] & 127) * factor;
    if (bytes[at] < 128) return [number, at + 1];
  }
}

/** The sections of a module or component: their ids and contents. */
function sections(bytes) {
  const found = [];
  for (let at = HEADER; at < bytes.length; ) {
    const [size, begin] = read(bytes, at + 1);
    found.push({ id: bytes[at], content: [...bytes.slice(begin, begin + size)] });
    at = begin + size;
  }
  return found;
}

const joined = (header, all) => [...header, ...all.flatMap(({ id, content }) => [id, ...unsigned(content.length), ...content])];

/** Elements or pages that something begins with, and how many it may have. */
const limits = ([initial, maximum]) => (maximum === undefined ? [0, ...unsigned(initial)] : [1, ...unsigned(initial), ...unsigned(maximum)]);

/** Puts instructions in front of a function's own; it may have no locals but groups of them. */
function before(code, which, instructions) {
  let [count, at] = read(code, 0);
  const bodies = [];
  for (let number = 0; number < count; number += 1) {
    const [size, begin] = read(code, at);
    let body = code.slice(begin, begin + size);
    if (number === which) {
      let [groups, end] = read(body, 0);
      for (; groups > 0; groups -= 1) end = read(body, end)[1] + 1;
      body = [...body.slice(0, end), ...instructions, ...body.slice(end)];
    }
    bodies.push(...unsigned(body.length), ...body);
    at = begin + size;
  }
  return [...unsigned(count), ...bodies];
}

/** Adds a section to a component, which changes nothing but its digest. */
export const note = (bytes) => Buffer.concat([bytes, Buffer.from([0, 5, 4]), Buffer.from("note")]);

/** A component with a table and a memory of `[initial, maximum]`, which grows each by some elements or pages in turn when it runs. */
export function crafted(root, { table = [1], memory = [1], grow = [] }) {
  const bytes = readFileSync(join(root, "tests/formats/hello.wasm"));
  const outer = sections(bytes).map(({ id, content }) => {
    if (id !== CORE_MODULE || content[4] !== 1) return { id, content };
    const own = sections(content).flatMap((section) => {
      switch (section.id) {
        case FUNCTIONS:
          return [section, { id: TABLES, content: [1, 0x70, ...limits(table)] }];
        case MEMORIES:
          return [{ id: MEMORIES, content: [1, ...limits(memory)] }];
        case CODE: {
          const instructions = grow.flatMap(([what, by]) => {
            const grown = what === "table" ? [0xd0, 0x70, 0x41, ...signed(by), 0xfc, 15, 0] : [0x41, ...signed(by), 0x40, 0];
            return [...grown, 0x1a];
          });
          return [{ id: CODE, content: before(section.content, RUN, instructions) }];
        }
        default:
          return [section];
      }
    });
    return { id, content: joined(content.slice(0, HEADER), own) };
  });
  return Uint8Array.from(joined(bytes.subarray(0, HEADER), outer));
}
