// Calls of functions that components export. The walker converts params and answers, as `graph_core::wit_value`; this module converts its values
// to those of a component's generated JavaScript, and back. As `host/engine/src/functions`.

import { Fault, type Failure } from "./fault";
import { members } from "./json";
import type { Outcome } from "./outcome";

/** A type, in the form of `wit/walker/README.md`. */
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

/** A function that a component exports, in `bundle.json`. */
export interface BundledFunction {
  /** Name after `#` in item ids. */
  name: string;
  /** Interface that contains it, with its version. */
  interface?: string;
  types: { params: [string, Type][]; result?: Type };
}

/** A value in the walker's form. */
type PlainValue = null | boolean | number | string | PlainValue[];

/** Size of one value in the native host, and limit of the data of one call in addition to the limit of its answer, in bytes. */
const VALUE = 40;
const HANDED = 4 << 20;

/** Typed arrays of the lists of these types. */
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

/** Converts a name of WIT for generated JavaScript: `dark-blue` to `darkBlue`. */
const camel = (name: string): string =>
  name
    .toLowerCase()
    .split("-")
    .map((word, at) => (at === 0 ? word : word.slice(0, 1).toUpperCase() + word.slice(1)))
    .join("");

/** Checks whether the generator writes a value of the type as itself or `undefined`; an option of such a type is tagged. */
const isNullable = (type: Type): boolean => typeof type === "object" && "option" in type && !isNullable(type.option);

const textOf = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

/** Converts a value for the generated JavaScript. */
function given(type: Type, value: PlainValue): unknown {
  if (typeof type === "string") {
    if (type === "u64" || type === "s64") return BigInt(value as string);
    return type === "f32" || type === "f64" ? Number(value) : value;
  }
  if ("enum" in type) return value;
  if ("option" in type) {
    const inner = (value as PlainValue[]).map((one) => given(type.option, one));
    if (!isNullable(type.option)) return inner[0];
    return inner.length === 0 ? { tag: "none" } : { tag: "some", val: inner[0] };
  }
  if ("result" in type) {
    const [tag, inner] = value as [string, PlainValue];
    const of = type.result[tag === "ok" ? 0 : 1];
    return { tag, val: of === null ? undefined : given(of, inner) };
  }
  if ("variant" in type) {
    const [tag, inner] = value as [string, PlainValue];
    const of = type.variant.find(([name]) => name === tag)?.[1] ?? null;
    return of === null ? { tag } : { tag, val: given(of, inner) };
  }
  const values = value as PlainValue[];
  if ("flags" in type) return Object.fromEntries(type.flags.map((name) => [camel(name), values.includes(name)]));
  if ("record" in type) return Object.fromEntries(type.record.map(([name, of], at) => [camel(name), given(of, values[at]!)]));
  if ("tuple" in type) return type.tuple.map((of, at) => given(of, values[at]!));
  const of = "list" in type ? type.list : type["fixed-length-list"][0];
  const all = values.map((one) => given(of, one));
  const array = "list" in type && typeof of === "string" ? ARRAYS[of as keyof typeof ARRAYS] : undefined;
  return array ? (array as unknown as { from(values: unknown[]): unknown }).from(all) : all;
}

/** Converts values of the generated JavaScript, and counts their size in the native host. */
class ValueReader {
  constructor(private left: number) {}

  private count(bytes: number): void {
    this.left -= bytes;
    if (this.left < 0) throw new Fault("limit", "it handed more data to the host than one call may");
  }

  private inside(type: Type, value: unknown): PlainValue {
    this.count(VALUE);
    return this.value(type, value);
  }

  private named(names: string[], name: unknown): string {
    if (typeof name !== "string" || !names.includes(name)) throw new Error("discriminant out of range");
    this.count(name.length);
    return name;
  }

  value(type: Type, value: unknown): PlainValue {
    if (typeof type === "string") {
      if (type === "u64" || type === "s64") return String(value);
      if (type === "f32" || type === "f64") return textOf(value as number);
      if (type === "string") this.count(new TextEncoder().encode(value as string).length);
      return value as PlainValue;
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
    // Counted before the elements are converted.
    this.count(VALUE * values.length);
    return Array.from(values, (one) => this.value(of, one));
  }
}

/** Finds the function of an instance. */
function find(instance: object, { name, interface: from }: BundledFunction): (...values: unknown[]) => unknown {
  const own = camel(name.slice(name.lastIndexOf("/") + 1));
  const scope = from === undefined ? instance : (instance as Record<string, object>)[from.includes(":") ? from : camel(from)];
  const found = scope && Object.hasOwn(scope, own) ? (scope as Record<string, unknown>)[own] : undefined;
  if (typeof found !== "function") throw new Error(`it exports no function \`${name}\``);
  return found as (...values: unknown[]) => unknown;
}

/** Mark in the generated code of functions that throw the error of their `result`; others, whose `result` type is imported, return it. */
const THROWS = "retCopy.tag === 'err'";

/** Calls a function with arguments from the walker, and returns its result for the walker. `output` is the limit of the answer, in bytes. */
export async function callFunction(instance: object, bundled: BundledFunction, values: string, output: number): Promise<string> {
  const { params, result } = bundled.types;
  const called = find(instance, bundled);
  const plain = JSON.parse(values) as PlainValue[];
  const throws = typeof result === "object" && "result" in result && String(called).includes(THROWS);
  let value: unknown;
  try {
    value = await called(...params.map(([, type], at) => given(type, plain[at]!)));
    if (throws) value = { tag: "ok", val: value };
  } catch (thrown) {
    if (!throws || thrown instanceof Error) throw thrown;
    value = { tag: "err", val: thrown };
  }
  return JSON.stringify(result === undefined ? null : new ValueReader(output + HANDED).value(result, value));
}

/** Reads the walker's report on a call: its outcome, and the host fuel for its values. */
export function outcomeOf(report: string): { outcome: Outcome; work: bigint } {
  const fields = members(report);
  const work = BigInt(fields.get("work") ?? 0);
  const failed = fields.get("failure");
  if (failed === undefined) return { outcome: { result: members(fields.get("outcome") ?? "{}").get("result") ?? "null" }, work };
  const { category, message } = JSON.parse(failed) as Failure;
  const details = members(failed).get("details");
  return { outcome: { failure: { category, message, ...(details === undefined ? {} : { details }) } }, work };
}
