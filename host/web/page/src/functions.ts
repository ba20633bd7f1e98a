// Calls of functions that components export. The walker reads params and writes answers, as `graph_core::wit_value`; what is here turns its
// values into those that the generated JavaScript of a component takes, and back. As `host/engine/src/functions`.

import { Fault, type Failure } from "./fault";
import { members } from "./json";
import type { Outcome } from "./outcome";

/** A type, as `wit/walker/README.md` says. */
type Type =
  | string
  | { list: Type }
  | { "fixed-length-list": [Type, number] }
  | { tuple: Type[] }
  | { record: [string, Type][] }
  | { variant: [string, Type | null][] }
  | { enum: string[] }
  | { flags: string[] }
  | { option: Type }
  | { result: [Type | null, Type | null] };

/** A function that a component exports, as `bundle.json` has it. */
export interface BundledFunction {
  /** Its name after `#` in item ids. */
  name: string;
  /** The interface that has it, with its version. */
  interface?: string;
  types: { params: [string, Type][]; result?: Type };
}

/** A value as the walker writes and reads it. */
type Plain = null | boolean | number | string | Plain[];

/** What one value takes up in the native host, in bytes, and how much one call may hand to it besides its answer's limit. */
const VALUE = 40;
const HANDED = 4 << 20;

/** Lists of these have arrays of their own. */
const ARRAYS = {
  u8: Uint8Array,
  s8: Int8Array,
  u16: Uint16Array,
  s16: Int16Array,
  u32: Uint32Array,
  s32: Int32Array,
  u64: BigUint64Array,
  s64: BigInt64Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;

/** A name of WIT in generated JavaScript: `dark-blue` is `darkBlue`. */
const camel = (name: string): string =>
  name
    .toLowerCase()
    .split("-")
    .map((word, at) => (at === 0 ? word : word.slice(0, 1).toUpperCase() + word.slice(1)))
    .join("");

/** Whether the generator writes a value of the type as it is or as `undefined`; an option of such a type is tagged. */
const isNullable = (type: Type): boolean => typeof type === "object" && "option" in type && !isNullable(type.option);

const textOf = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

/** What the generated JavaScript takes. */
function given(type: Type, value: Plain): unknown {
  if (typeof type === "string") {
    if (type === "u64" || type === "s64") return BigInt(value as string);
    return type === "f32" || type === "f64" ? Number(value) : value;
  }
  if ("enum" in type) return value;
  if ("option" in type) {
    const inner = (value as Plain[]).map((one) => given(type.option, one));
    if (!isNullable(type.option)) return inner[0];
    return inner.length === 0 ? { tag: "none" } : { tag: "some", val: inner[0] };
  }
  if ("result" in type) {
    const [tag, inner] = value as [string, Plain];
    const of = type.result[tag === "ok" ? 0 : 1];
    return { tag, val: of === null ? undefined : given(of, inner) };
  }
  if ("variant" in type) {
    const [tag, inner] = value as [string, Plain];
    const of = type.variant.find(([name]) => name === tag)?.[1] ?? null;
    return of === null ? { tag } : { tag, val: given(of, inner) };
  }
  const values = value as Plain[];
  if ("flags" in type) return Object.fromEntries(type.flags.map((name) => [camel(name), values.includes(name)]));
  if ("record" in type) return Object.fromEntries(type.record.map(([name, of], at) => [camel(name), given(of, values[at]!)]));
  if ("tuple" in type) return type.tuple.map((of, at) => given(of, values[at]!));
  const of = "list" in type ? type.list : type["fixed-length-list"][0];
  const all = values.map((one) => given(of, one));
  const array = "list" in type && typeof of === "string" ? ARRAYS[of as keyof typeof ARRAYS] : undefined;
  return array ? (array as unknown as { from(values: unknown[]): unknown }).from(all) : all;
}

/** Takes what the generated JavaScript gives, and counts what it takes up in the native host. */
class Taken {
  constructor(private left: number) {}

  private count(bytes: number): void {
    this.left -= bytes;
    if (this.left < 0) throw new Fault("limit", "it handed more data to the host than one call may");
  }

  private inside(type: Type, value: unknown): Plain {
    this.count(VALUE);
    return this.value(type, value);
  }

  private named(names: string[], name: unknown): string {
    if (typeof name !== "string" || !names.includes(name)) throw new Error("discriminant out of range");
    this.count(name.length);
    return name;
  }

  value(type: Type, value: unknown): Plain {
    if (typeof type === "string") {
      if (type === "u64" || type === "s64") return String(value);
      if (type === "f32" || type === "f64") return textOf(value as number);
      if (type === "string") this.count(new TextEncoder().encode(value as string).length);
      return value as Plain;
    }
    if ("enum" in type) return this.named(type.enum, value);
    if ("option" in type) {
      if (!isNullable(type.option)) return value === undefined ? [] : [this.inside(type.option, value)];
      const { tag, val } = value as { tag: string; val: unknown };
      return tag === "none" ? [] : [this.inside(type.option, val)];
    }
    if ("result" in type) {
      const { tag, val } = value as { tag: string; val: unknown };
      const of = type.result[tag === "ok" ? 0 : 1];
      return [tag, of === null ? null : this.inside(of, val)];
    }
    if ("variant" in type) {
      const { tag, val } = (value ?? {}) as { tag?: string; val?: unknown };
      const name = this.named(type.variant.map(([known]) => known), tag);
      const of = type.variant.find(([known]) => known === name)?.[1] ?? null;
      return [name, of === null ? null : this.inside(of, val)];
    }
    if ("flags" in type) {
      const set = type.flags.filter((name) => (value as Record<string, boolean>)[camel(name)]);
      set.forEach((name) => this.count(name.length));
      return set;
    }
    if ("record" in type) {
      return type.record.map(([name, of]) => {
        this.count(name.length);
        return this.inside(of, (value as Record<string, unknown>)[camel(name)]);
      });
    }
    if ("tuple" in type) return type.tuple.map((of, at) => this.inside(of, (value as unknown[])[at]));
    const of = "list" in type ? type.list : type["fixed-length-list"][0];
    const values = value as ArrayLike<unknown>;
    // Counted before anything is made of them.
    this.count(VALUE * values.length);
    return Array.from(values, (one) => this.value(of, one));
  }
}

/** The function of an instance. */
function find(instance: object, { name, interface: from }: BundledFunction): (...values: unknown[]) => unknown {
  const own = camel(name.slice(name.lastIndexOf("/") + 1));
  const scope = from === undefined ? instance : (instance as Record<string, object>)[from.includes(":") ? from : camel(from)];
  const found = scope && Object.hasOwn(scope, own) ? (scope as Record<string, unknown>)[own] : undefined;
  if (typeof found !== "function") throw new Error(`it exports no function \`${name}\``);
  return found as (...values: unknown[]) => unknown;
}

/** The generator has functions throw what they fail with, except those whose result has a name from elsewhere. */
const THROWS = "retCopy.tag === 'err'";

/** Calls a function with what the walker has made of its params, and gives what the walker makes an answer of. `output` is how many bytes that may have. */
export async function callFunction(instance: object, bundled: BundledFunction, values: string, output: number): Promise<string> {
  const { params, result } = bundled.types;
  const called = find(instance, bundled);
  const plain = JSON.parse(values) as Plain[];
  const throws = typeof result === "object" && "result" in result && String(called).includes(THROWS);
  let value: unknown;
  try {
    value = await called(...params.map(([, type], at) => given(type, plain[at]!)));
    if (throws) value = { tag: "ok", val: value };
  } catch (thrown) {
    if (!throws || thrown instanceof Error) throw thrown;
    value = { tag: "err", val: thrown };
  }
  return JSON.stringify(result === undefined ? null : new Taken(output + HANDED).value(result, value));
}

/** What a report of the walker says about a call: what came of it, and host fuel for its values. */
export function outcomeOf(report: string): { outcome: Outcome; work: bigint } {
  const fields = members(report);
  const work = BigInt(fields.get("work") ?? 0);
  const failed = fields.get("failure");
  if (failed === undefined) return { outcome: { result: members(fields.get("outcome") ?? "{}").get("result") ?? "null" }, work };
  const { category, message } = JSON.parse(failed) as Failure;
  const details = members(failed).get("details");
  return { outcome: { failure: { category, message, ...(details === undefined ? {} : { details }) } }, work };
}
