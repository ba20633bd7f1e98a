// JSON texts taken apart without reading their values: what a graph computes stays as it was written, 64-bit integers included.

import { INVISIBLE } from "./invisible";

/** What stands at `from`, and where it ends. The text is known to be JSON, because the walker wrote it. */
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

/** The texts of an array's elements. */
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

/** The texts of an object's members, by name. */
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

/** An object of texts that are JSON already. */
export function object(fields: Record<string, string | undefined>): string {
  const each = Object.entries(fields).flatMap(([name, text]) => (text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]));
  return `{${each.join(",")}}`;
}

/** A JSON text that is canonical already, as a part of a value: its integers stay exact. */
export class Raw {
  constructor(readonly text: string) {}
}

export type Plain = null | boolean | number | string | Raw | Plain[] | { [name: string]: Plain };

/** Canonical JSON (RFC 8785) of a value whose large integers are in texts. */
export function canonical(value: Plain): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name] as Plain)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** A JSON text as a value, with its large integers as texts. The text is known to be JSON. */
export function plain(text: string): Plain {
  if (text.startsWith("[")) return elements(text).map(plain);
  if (text.startsWith("{")) return Object.fromEntries([...members(text)].map(([name, value]) => [name, plain(value)]));
  const value = JSON.parse(text) as Plain;
  return typeof value === "number" && /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? new Raw(text) : value;
}

const TURNS = /[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

/** A text for a person: control characters, except line breaks and tabs, and what nobody sees are escaped, as the native host does. */
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

/** Escapes what could change how a page or a terminal shows the text around it, as the native host does where texts are recorded. */
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
