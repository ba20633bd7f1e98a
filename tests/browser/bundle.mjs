// Bundles as the command line writes them, with the page and the walker that are tested, and sealed again after changes.

import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

export const digest = (bytes) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const PAYLOAD_TYPE = "application/vnd.graph-host.bundle+json";
// A key of tests, from the seed 07 07 .. 07.
const key = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 7)]),
  format: "der",
  type: "pkcs8",
});

export function walk(folder) {
  return readdirSync(folder, { recursive: true })
    .map((path) => join(folder, path))
    .filter((path) => statSync(path).isFile())
    .sort();
}

/** Writes manifest.json, and signs it. */
export function seal(out) {
  for (const name of ["manifest.json", "manifest.json.dsse.json"]) rmSync(join(out, name), { force: true });
  const files = Object.fromEntries(walk(out).map((path) => [relative(out, path), digest(readFileSync(path))]));
  const raw = Buffer.from(createPublicKey(key).export({ format: "jwk" }).x, "base64url");
  const manifest = Buffer.from(JSON.stringify({ version: 1, key: raw.toString("base64"), files }, null, 1));
  writeFileSync(join(out, "manifest.json"), manifest);
  const signed = Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${manifest.length} `), manifest]);
  const signatures = [{ keyid: "", sig: sign(null, signed, key).toString("base64") }];
  const envelope = { payload: manifest.toString("base64"), payloadType: PAYLOAD_TYPE, signatures };
  writeFileSync(join(out, "manifest.json.dsse.json"), JSON.stringify(envelope));
}
