// Reads files of `graph-host runs export`, and verifies that they are whole. As `host/runtime/src/history/archive.rs`.

import { field } from "./export";
import { members, object } from "./json";
import { digestOf, keyIdOf, RefusedInput } from "./verify";
import { words } from "./walker";

const FORMAT = "graph-host/run";
const VERSION = 3;
const DOMAIN = "graph-host/export/v1";
/** Prefix of every message that the project signs. */
const SIGNED = "graph-host signature v1";
/** Size of the largest file that is read, in bytes: several copies of it are held in memory. */
export const LONGEST = 64 << 20;

/** A record of a line: `body` is the signed text. */
interface RecordLine {
  kind: string;
  namespace: string;
  body: string;
  /** Number of entries of the run's history before its own; infinite for a record that is not in the history. */
  before: number;
  /** The record as the walker reads it. */
  document: string;
}

/** A run whose file is whole. The walker verifies its records and texts. */
export interface Archive {
  run: string;
  /** The public key of the host that made it, in PEM, and the key's id. */
  key: string;
  keyId: string;
  row: Map<string, string>;
  /** Texts that the file contains, by digest. */
  texts: Map<string, string>;
  records: RecordLine[];
  /** `true` if its first checkpoints were removed. */
  pruned: boolean;
}

const encoder = new TextEncoder();
const damaged = (line: number, why: string): RefusedInput => new RefusedInput(`the file is damaged at line ${line}: ${why}`);

function string(of: string | undefined): string | undefined {
  const value: unknown = of === undefined ? undefined : JSON.parse(of);
  return typeof value === "string" ? value : undefined;
}

/** Splits a file into lines, each with its line break. */
function linesOf(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0x0a, at);
    if (end < 0) throw damaged(lines.length + 1, "it ends within a line: it is not whole");
    lines.push(bytes.subarray(at, end + 1));
    at = end + 1;
  }
  return lines;
}

function parsed(line: Uint8Array): string {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(line).trim();
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("it is not a JSON object");
  return text;
}

function header(line: Uint8Array | undefined): { run: string; key: string | undefined } {
  const foreign = "this is not the file of a run: its first line does not say so\nsuch a file is made by `graph-host runs export`";
  let fields: Map<string, string>;
  try {
    fields = members(parsed(line ?? new Uint8Array()));
  } catch {
    throw new RefusedInput(foreign);
  }
  if (string(fields.get("format")) !== FORMAT) throw new RefusedInput(foreign);
  const version = fields.get("version");
  if (version !== String(VERSION)) throw new RefusedInput(`the file has format version ${version}, and this page reads version ${VERSION}`);
  const run = string(fields.get("run_id"));
  if (run === undefined) throw damaged(1, "it names no run");
  return { run, key: string(fields.get("key")) };
}

const derOf = (pem: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(pem.replace(/-----[A-Z ]+-----|\s/g, "")), (character) => character.charCodeAt(0));

/** Checks the signature of the whole file, which is over its digest. */
async function isSigned(pem: string, signature: string, digest: string): Promise<boolean> {
  const hex = digest.slice("sha256:".length);
  const raw = Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16));
  const message = await new Blob([encoder.encode(SIGNED), encoder.encode(DOMAIN), raw].flatMap(field) as BlobPart[]).arrayBuffer();
  const key = await crypto.subtle.importKey("spki", derOf(pem), "Ed25519", false, ["verify"]);
  const given = Uint8Array.from(atob(signature), (character) => character.charCodeAt(0));
  return crypto.subtle.verify("Ed25519", key, given, message);
}

/** Returns the id of a public key, whose raw bytes are the last 32 of its PEM block. */
async function idOf(pem: string): Promise<string> {
  try {
    return await keyIdOf(Array.from(derOf(pem).slice(-32), (byte) => byte.toString(16).padStart(2, "0")).join(""));
  } catch (error) {
    throw new RefusedInput(`the key in the file cannot be used: ${words(error)}`);
  }
}

async function checkEnd(end: Map<string, string>, lines: Uint8Array[], key: string, keyId: string): Promise<void> {
  const number = lines.length;
  const before = lines.slice(0, -1);
  const hashed = [encoder.encode(DOMAIN), ...before].flatMap(field) as BlobPart[];
  const digest = await digestOf(new Uint8Array(await new Blob(hashed).arrayBuffer()));
  if (end.get("lines") !== String(before.length) || string(end.get("digest")) !== digest) {
    throw damaged(number, "what is before the last line was changed, or lines are missing");
  }
  const [signer, signature] = [string(end.get("key_id")), string(end.get("signature"))];
  if (signer === undefined && signature === undefined) return;
  if (signer !== keyId || signature === undefined || !(await isSigned(key, signature, digest).catch(() => false))) {
    throw damaged(number, "its signature is not that of the key that it was checked with");
  }
}

function recordOf(run: string, line: string): RecordLine {
  const fields = members(line);
  const text = (name: string): string => string(fields.get(name)) ?? "";
  const { before = "null", ...kept } = Object.fromEntries(fields);
  return {
    kind: text("kind"),
    namespace: text("namespace"),
    body: text("body"),
    before: before === "null" ? Infinity : Number(before),
    document: object({ ...kept, run: JSON.stringify(run), events: "0" }),
  };
}

/** Returns the document of a stored run for the walker. */
export function storedOf({ records, texts }: Archive): string {
  const written = Array.from(texts, ([digest, text]) => JSON.stringify({ digest, text }));
  return `{"records":[${records.map(({ document }) => document).join(",\n")}],"texts":[${written.join(",\n")}]}`;
}

/** Reads a file, and verifies as `graph-host runs import` does that it is whole. */
export async function readArchive(bytes: Uint8Array): Promise<Archive> {
  if (bytes.length > LONGEST) throw new RefusedInput(`the file has more than ${LONGEST >> 20} MiB: replay the run with \`graph-host replay\``);
  const lines = linesOf(bytes);
  const { run, key } = header(lines[0]);
  if (key === undefined) throw new RefusedInput("the file does not bring the key of the host that made the run");
  const archive: Archive = { run, key, keyId: "", row: new Map(), texts: new Map(), records: [], pruned: false };
  let end: Map<string, string> | undefined;
  for (const [place, line] of lines.entries()) {
    if (place === 0) continue;
    if (end) throw damaged(place + 1, "something follows its last line");
    let kind: string | undefined;
    let value = "";
    try {
      [[kind, value] = ["", ""]] = [...members(parsed(line))];
    } catch (error) {
      throw damaged(place + 1, `the line cannot be read: ${words(error)}`);
    }
    if (kind === "row" && archive.row.size > 0) throw damaged(place + 1, "there is a second row");
    if (kind === "row") archive.row = members(value);
    else if (kind === "text") archive.texts.set(string(members(value).get("digest")) ?? "", string(members(value).get("text")) ?? "");
    else if (kind === "pruning") archive.pruned = true;
    else if (kind === "record") archive.records.push(recordOf(run, value));
    else if (kind === "end") end = members(value);
    else throw damaged(place + 1, `the line cannot be read: \`${kind}\` is not known`);
  }
  if (!end) throw damaged(lines.length, "it has no last line that says that it is whole: it was cut off");
  archive.keyId = await idOf(key);
  await checkEnd(end, lines, key, archive.keyId);
  if (archive.row.size === 0) throw damaged(lines.length, "there is no row");
  // A file has one namespace after the other. The walker reads all records in the order in which they were stored.
  archive.records.sort(({ before: one }, { before: other }) => (one === other ? 0 : one - other));
  if (string(archive.row.get("run_id")) !== run) throw damaged(lines.length, "the row is of another run");
  return archive;
}
