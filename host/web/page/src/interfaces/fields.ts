// Header fields of requests and responses, for `wasi:http/types`.

import { Fault } from "../fault";
import { HostResource } from "./streams";

/** Limit of the fields of one request, in bytes, measured as in the native host. */
const MAX_BYTES = 128 << 10;
/** Overhead of a name and of a value in the native host, in bytes. */
const NAME = 32;
const VALUE = 40;

/** Fields that only the host writes: they define the end or the target of a message. */
const FORBIDDEN = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "host",
  "http2-settings",
  "te",
  "trailer",
  "expect",
]);

export type Field = [name: string, value: Uint8Array];

export const isForbidden = (name: string): boolean => FORBIDDEN.has(name);

/** Converts bytes of a field to the string for `fetch`, with one character for each byte. */
export const asText = (bytes: Uint8Array): string => String.fromCharCode(...bytes);
export const asBytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

/** Returns a name in lower case, if it is valid. */
function nameOf(name: string): string | undefined {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) ? name.toLowerCase() : undefined;
}

function parse(name: string): string {
  const known = nameOf(name);
  if (known === undefined) throw { tag: "invalid-syntax" };
  if (isForbidden(known)) throw { tag: "forbidden" };
  return known;
}

function checked(name: string, value: Uint8Array): Uint8Array {
  const isValid = value.every((byte) => byte === 9 || (byte >= 32 && byte !== 127));
  if (!isValid || (name === "content-length" && !/^\d{1,20}$/.test(asText(value)))) throw { tag: "invalid-syntax" };
  return value.slice();
}

/** Fields of a request or a response, grouped by name. */
export class FieldMap extends HostResource {
  private readonly values = new Map<string, Uint8Array[]>();
  private bytes = 0;
  private mutable = true;

  private change(name: string): string {
    const known = parse(name);
    if (!this.mutable) throw { tag: "immutable" };
    return known;
  }

  /** Adds a checked field. */
  add(name: string, value: Uint8Array): void {
    const known = this.values.get(name);
    this.bytes += value.length + VALUE + (known ? 0 : name.length + NAME);
    if (this.mutable && this.bytes > MAX_BYTES) throw new Fault("limit", "its request has more header fields than one may have");
    if (known) known.push(value);
    else this.values.set(name, [value]);
  }

  /** Forbids further changes by the component. */
  freeze(): this {
    this.mutable = false;
    return this;
  }

  get(name: string): Uint8Array[] {
    return (this.values.get(nameOf(name) ?? "") ?? []).map((value) => value.slice());
  }

  has(name: string): boolean {
    return this.values.has(nameOf(name) ?? "");
  }

  set(name: string, values: Uint8Array[]): void {
    const known = this.change(name);
    if (known === "content-length" && values.length > 1) throw { tag: "invalid-syntax" };
    const each = values.map((value) => checked(known, value));
    this.remove(known);
    for (const value of each) this.add(known, value);
  }

  delete(name: string): void {
    this.remove(this.change(name));
  }

  private remove(name: string): void {
    const values = this.values.get(name);
    if (!values) return;
    this.bytes -= name.length + NAME + values.reduce((sum, value) => sum + value.length + VALUE, 0);
    this.values.delete(name);
  }

  append(name: string, value: Uint8Array): void {
    const known = this.change(name);
    const bytes = checked(known, value);
    if (known === "content-length" && this.values.has(known)) throw { tag: "invalid-syntax" };
    this.add(known, bytes);
  }

  entries(): Field[] {
    return [...this.values].flatMap(([name, values]) => values.map((value): Field => [name, value.slice()]));
  }
}
