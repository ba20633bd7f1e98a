// Exported runs, changed: as damage changes them, or as the holder of the key could.

import { createHash, createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const field = (bytes) => {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, bytes]);
};
const digestOf = (parts) => `sha256:${createHash("sha256").update(Buffer.concat(parts.map((part) => field(Buffer.from(part))))).digest("hex")}`;

/** The lines of a file, parsed. */
export const linesOf = (path) => readFileSync(path, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

/** The file of these lines, with a last line that fits the others; it says nothing of who wrote them. */
export function resealed(lines) {
  const texts = lines.slice(0, -1).map((line) => `${JSON.stringify(line)}\n`);
  const digest = digestOf(["graph-host/export/v1", ...texts]);
  return `${texts.join("")}${JSON.stringify({ end: { lines: texts.length, digest, key_id: null, signature: null } })}\n`;
}

/** Changes the body of a checkpoint, and signs it and everything that follows from it again, with the key of this host. */
export function resigned(lines, sequence, change) {
  const key = createPrivateKey(readFileSync(join(process.env.GRAPH_HOST_HOME, "identity.pem")));
  const renamed = new Map();
  const records = lines.map((line) => {
    const { record } = line;
    if (!record) return line;
    let { body } = record;
    for (const [before, after] of renamed) body = body.replaceAll(before, after);
    if (record.kind === "checkpoint" && record.namespace === "" && record.sequence === sequence) body = change(body);
    if (body === record.body) return line;
    const domain = `graph-host/${record.kind}/v1`;
    const digest = digestOf([domain, body]);
    const raw = Buffer.from(digest.slice("sha256:".length), "hex");
    const message = Buffer.concat(["graph-host signature v1", domain, raw].map((part) => field(Buffer.from(part))));
    renamed.set(record.digest, digest);
    return { record: { ...record, body, digest, signature: sign(null, message, key).toString("base64") } };
  });
  return resealed(records);
}
