// A request of a component, in a normalised form, and its body. As `complete` in `host/engine/src/host/http/handler.rs`.

import type { HttpProblem, HttpRequest } from "../protocol";
import type { Field } from "./fields";

export type Method = { tag: "get" | "head" | "post" | "put" | "delete" | "connect" | "options" | "trace" | "patch" } | { tag: "other"; val: string };
export type Scheme = { tag: "HTTP" | "HTTPS" } | { tag: "other"; val: string };

/** Limit of fields of a request. */
const MAX_FIELDS = 128;

/** The written part of a request's body. */
export class RequestBody {
  private readonly pieces: Uint8Array[] = [];
  private length = 0;
  state: "open" | "finished" | "aborted" = "open";

  constructor(private readonly expected: bigint | undefined) {}

  write(bytes: Uint8Array): void {
    this.pieces.push(bytes.slice());
    this.length += bytes.length;
    if (this.expected !== undefined && BigInt(this.length) > this.expected) throw { tag: "last-operation-failed", val: undefined };
  }

  /** Ends the body; returns the error of a body whose length differs from that in the request. */
  finish(): object | undefined {
    const isWhole = this.expected === undefined || BigInt(this.length) === this.expected;
    this.state = isWhole ? "finished" : "aborted";
    return isWhole ? undefined : { tag: "HTTP-request-body-size", val: BigInt(this.length) };
  }

  abort(): void {
    if (this.state === "open") this.state = "aborted";
  }

  bytes(): Uint8Array {
    const whole = new Uint8Array(this.length);
    let at = 0;
    for (const piece of this.pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}

/** Normalises an IPv6 address, as the native host does; `undefined` for any other text. */
function address(text: string): string | undefined {
  try {
    return new URL(`http://[${text}]/`).hostname.slice(1, -1);
  } catch {
    return undefined;
  }
}

/** Splits an authority into host and port. */
function split(authority: string): [string, string | undefined] {
  const bracket = authority.lastIndexOf("]");
  const colon = authority.indexOf(":", Math.max(bracket, 0));
  return colon < 0 ? [authority, undefined] : [authority.slice(0, colon), authority.slice(colon + 1)];
}

/** Returns the request to send, without its body, or the reason why it is invalid. */
export function complete(asked: { method: Method; scheme?: Scheme; authority?: string; path?: string; fields: Field[] }): HttpRequest | HttpProblem {
  const bad = (message: string): HttpProblem => ({ error: "HTTP-request-URI-invalid", message });
  const method = asked.method.tag === "other" ? asked.method.val : asked.method.tag.toUpperCase();
  if (asked.scheme?.tag === "other") return bad("a request goes by http or https");
  const scheme = asked.scheme?.tag === "HTTP" ? "http" : "https";
  const { authority = "" } = asked;
  if (authority === "") return bad("the request's authority is no host");
  if (authority.includes("@")) return bad("the request's authority holds a user name");
  const [named, port] = split(authority);
  let host = named.toLowerCase();
  if (host.startsWith("[") && host.endsWith("]")) {
    const known = address(host.slice(1, -1));
    if (known === undefined) return bad("the request's host is no address");
    host = known;
  }
  const path = asked.path ?? "";
  if (!/^($|[/?])/.test(path)) return bad("the request's path does not start with `/`");
  if (asked.fields.length > MAX_FIELDS) return { error: "HTTP-request-denied", message: `the request has more than ${MAX_FIELDS} fields` };
  return {
    method,
    scheme,
    host,
    // As in the native host, an invalid port counts as missing.
    port: /^\d{1,5}$/.test(port ?? "") && Number(port) < 65536 ? Number(port) : scheme === "http" ? 80 : 443,
    path: path.startsWith("/") ? path : `/${path}`,
    fields: asked.fields,
    body: new Uint8Array(),
  };
}
