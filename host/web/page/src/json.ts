// Splits JSON texts without parsing their values: values of a graph stay as written, 64-bit integers included.

import { INVISIBLE } from "./invisible";

/** Returns the end of the value at `from`. The text is valid JSON, because the walker wrote it. */
function end(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    switch (text[at]) {
      case '"':
        for (at += 1; text[at] !== '"'; at += 1) if (text[at] === "\\") at += 1;
        if (depth === 0) return at + 1;
        break;
      case "{":
      case "[":
        depth += 1;
        break;
      case "}":
      case "]":
        if (depth === 0) return at;
        depth -= 1;
        if (depth === 0) return at + 1;
        break;
      case ",":
      case ":":
        if (depth === 0) return at;
        break;
      default:
    }
  }
  return text.length;
}

/** Returns the texts of an array's elements. */
export function elements(text: string): string[] {
  const found: string[] = [];
  let at = text.indexOf("[") + 1;
  while (at > 0 && at < text.length) {
    const stop = end(text, at);
    const one = text.slice(at, stop).trim();
    if (one !== "") found.push(one);
    if (text[stop] !== ",") break;
    at = stop + 1;
  }
  return found;
}

/** Returns the texts of an object's members, by name. */
export function members(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let at = text.indexOf("{") + 1;
  while (at > 0 && at < text.length) {
    const named = text.indexOf('"', at);
    if (named < 0) break;
    const colon = end(text, named);
    const value = text.indexOf(":", colon) + 1;
    const stop = end(text, value);
    found.set(JSON.parse(text.slice(named, colon)) as string, text.slice(value, stop).trim());
    if (text[stop] !== ",") break;
    at = stop + 1;
  }
  return found;
}

/** Returns the string of a JSON text; empty if there is none. */
export const string = (text: string | undefined): string => (text === undefined ? "" : String(JSON.parse(text)));

/** Builds an object from values that are JSON texts. */
export function object(fields: Record<string, string | undefined>): string {
  const each = Object.entries(fields).flatMap(([name, text]) => (text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]));
  return `{${each.join(",")}}`;
}

/** A canonical JSON text as a part of a value: its integers stay exact. */
export class RawJson {
  constructor(readonly text: string) {}
}

export type Plain = null | boolean | number | string | RawJson | Plain[] | { [name: string]: Plain };

/** Returns canonical JSON (RFC 8785) of a value whose large integers are in `Raw` texts. */
export function canonical(value: Plain): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name] as Plain)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** Parses a JSON text, with its large integers as `Raw` texts. The text is valid JSON. */
export function plain(text: string): Plain {
  if (text.startsWith("[")) return elements(text).map(plain);
  if (text.startsWith("{")) return Object.fromEntries([...members(text)].map(([name, value]) => [name, plain(value)]));
  const value = JSON.parse(text) as Plain;
  return typeof value === "number" && /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? new RawJson(text) : value;
}

const TURNS = /[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

/** Escapes control characters, except line breaks and tabs, and invisible characters, as the native host does for people. */
export function printable(text: string): string {
  let out = "";
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const acts = (isControl(code) && character !== "\n" && character !== "\t") || INVISIBLE.test(character);
    out += acts ? `\\u{${code.toString(16)}}` : character;
  }
  return out;
}

const isControl = (code: number): boolean => code < 0x20 || (code >= 0x7f && code < 0xa0);

/** Escapes characters that could change the display of the text around them, as the native host does in records. */
export function escape(text: string): string {
  let out = "";
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (character === "\n") out += "\\n";
    else if (character === "\r") out += "\\r";
    else if (character === "\t") out += "\\t";
    else if (isControl(code) || TURNS.test(character)) out += `\\u{${code.toString(16)}}`;
    else out += character;
  }
  return out;
}
