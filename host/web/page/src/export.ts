// Exports a run in the format of the command line: JSON lines, the last of which shows that the file is complete.

import type { Bundle } from "./bundle";
import { members, object } from "./json";
import type { PersistedRecord } from "./store";
import { digestOf } from "./verify";

const DOMAIN = "graph-host/export/v1";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const pem = (what: string, bytes: Uint8Array): string => `-----BEGIN ${what}-----\n${base64(bytes)}\n-----END ${what}-----\n`;
const digits = (text: string): number[] => Array.from({ length: text.length >> 1 }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));

/** Returns the private key of a seed (RFC 8032), as PKCS#8. */
const pkcs8 = (seed: string): Uint8Array<ArrayBuffer> => new Uint8Array([...digits("302e020100300506032b657004220420"), ...digits(seed)]);

/** Returns the private key in PEM, for `graph-host runs import --identity`. */
export const privateKey = (seed: string): string => pem("PRIVATE KEY", pkcs8(seed));

/** Returns the public key of a seed, in PEM. */
export async function publicKey(seed: string): Promise<string> {
  const key = await crypto.subtle.importKey("pkcs8", pkcs8(seed), "Ed25519", true, ["sign"]);
  const { x = "" } = await crypto.subtle.exportKey("jwk", key);
  const raw = Array.from(atob(x.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
  return pem("PUBLIC KEY", new Uint8Array([...digits("302a300506032b6570032100"), ...raw]));
}

/** Prefixes bytes with their length, as in digests and signatures of several parts. */
export function field(bytes: Uint8Array): Uint8Array[] {
  const length = new DataView(new ArrayBuffer(8));
  length.setBigUint64(0, BigInt(bytes.length), true);
  return [new Uint8Array(length.buffer), bytes];
}

/** Returns the line of a record, without the fields that only the walker uses. */
function recordLine(text: string): string {
  const { run: _run, events: _events, results: _results, ...kept } = Object.fromEntries(members(text));
  return object({ record: object(kept) });
}

export interface ExportedRun {
  run: string;
  seed: string;
  bundle: Bundle;
  /** Digest of the manifest. */
  manifest: string;
  durability: string;
  summary: string;
  /** Initial inputs of the run, in canonical form. */
  inputs: string;
  persisted: PersistedRecord[];
}

export async function exported({ run, seed, bundle, manifest, durability, summary, inputs, persisted }: ExportedRun): Promise<string> {
  const records = persisted.map(({ record }) => members(record));
  const body = (of: Map<string, string> | undefined): Map<string, string> => members(JSON.parse(of?.get("body") ?? '"{}"') as string);
  const root = records.filter((record) => record.get("kind") === '"checkpoint"' && record.get("namespace") === '""');
  const [first, last] = [body(root[0]), body(root.at(-1))];
  const told = members(summary);
  const text = (of: string | undefined): string => (of === undefined || of === "null" ? "null" : JSON.stringify(of));
  const row = object({
    run_id: JSON.stringify(run),
    graph_id: JSON.stringify(bundle.graph.id),
    graph_path: "null",
    parent_id: "null",
    root_id: JSON.stringify(run),
    continuation_of: "null",
    continuation_id: "null",
    chain_root_id: "null",
    status: told.get("status"),
    pid: "null",
    step: told.get("steps"),
    fuel: told.get("fuel"),
    result: text(told.get("output")),
    error: text(told.get("error")),
    graph: first.get("graph"),
    inputs: first.get("inputs"),
    manifest: JSON.stringify(manifest),
    pins: first.get("pins"),
    seed: first.get("seed"),
    key: root[0]?.get("key_id"),
    durability: JSON.stringify(durability),
    max_steps: "null",
    created_at: first.get("at"),
    updated_at: last.get("at"),
  });
  const begun = object({ digest: first.get("inputs"), text: JSON.stringify(inputs) });
  const texts = [begun, ...(bundle.texts ?? []).map((one) => JSON.stringify(one)), ...persisted.flatMap((one) => (one.text === undefined ? [] : [one.text]))];
  const lines = [
    object({ format: '"graph-host/run"', version: "3", run_id: JSON.stringify(run), key: JSON.stringify(await publicKey(seed)) }),
    object({ row }),
    ...texts.map((one) => object({ text: one })),
    ...persisted.map(({ record }) => recordLine(record)),
  ].map((line) => `${line}\n`);
  const digest = await digestOf(new Uint8Array(await new Blob([...field(bytesOf(DOMAIN)), ...lines.flatMap((line) => field(bytesOf(line)))] as BlobPart[]).arrayBuffer()));
  lines.push(`${object({ end: object({ lines: String(lines.length), digest: JSON.stringify(digest), key_id: "null", signature: "null" }) })}\n`);
  return lines.join("");
}
