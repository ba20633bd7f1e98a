// Verifies a bundle before anything in it is used: the manifest's signature, then every file's digest.

export class RefusedInput extends Error {}

export interface OpenedBundle {
  /** Key that signed the bundle: its id, and the Ed25519 public key in hexadecimal digits. */
  key: Key;
  paths: string[];
  /** Returns the bytes of a file after their digest was checked. */
  read(path: string): Promise<Uint8Array<ArrayBuffer>>;
}

export interface Key {
  id: string;
  public: string;
}

const PAYLOAD_TYPE = "application/vnd.graph-host.bundle+json";

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

export async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `sha256:${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Decompresses a large file. Its digest is that of the compressed bytes, and was checked. */
async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Checks that an object has only known fields, of the expected types. */
export function fields<T>(what: string, value: unknown, known: Record<keyof T & string, "string" | "number" | "object" | "boolean" | "any">): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new RefusedInput(`${what} is not a JSON object`);
  for (const name of Object.keys(value)) if (!(name in known)) throw new RefusedInput(`${what} has the unknown field \`${name}\``);
  for (const [name, type] of Object.entries(known)) {
    const found = (value as Record<string, unknown>)[name];
    if (type !== "any" && (typeof found !== type || found === null)) throw new RefusedInput(`${what} has no field \`${name}\` of type ${type}`);
  }
  return value as T;
}

async function get(base: string, path: string): Promise<Uint8Array<ArrayBuffer>> {
  let response: Response;
  try {
    response = await fetch(new URL(path, base), { redirect: "error", credentials: "omit" });
  } catch {
    throw new RefusedInput(`\`${path}\` could not be loaded: the server was not reached, or the page is offline`);
  }
  if (!response.ok) throw new RefusedInput(`\`${path}\` is missing: the server answered with status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

function parse(what: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new RefusedInput(`${what} cannot be read: ${String(error)}`);
  }
}

async function checkSignature(manifest: Uint8Array<ArrayBuffer>, key: string, envelopeBytes: Uint8Array): Promise<void> {
  interface Envelope {
    payload: string;
    payloadType: string;
    signatures: { sig: string }[];
  }
  const envelope = fields<Envelope>("manifest.json.dsse.json", parse("manifest.json.dsse.json", envelopeBytes), {
    payload: "string",
    payloadType: "string",
    signatures: "object",
  });
  const payload = bytesOf(envelope.payload);
  if (envelope.payloadType !== PAYLOAD_TYPE || payload.length !== manifest.length || payload.some((byte, at) => byte !== manifest[at])) {
    throw new RefusedInput("manifest.json is not what manifest.json.dsse.json signs: it was changed, or is of another bundle");
  }
  const head = new TextEncoder().encode(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `);
  const signed = new Uint8Array([...head, ...payload]);
  const imported = await crypto.subtle.importKey("raw", bytesOf(key), "Ed25519", false, ["verify"]);
  for (const { sig } of envelope.signatures) {
    if (await crypto.subtle.verify("Ed25519", imported, bytesOf(sig), signed)) return;
  }
  throw new RefusedInput("the signature of manifest.json is not valid: the bundle was changed after it was signed");
}

/** Returns the id of a key, as printed by the command line: that of securesystemslib. */
export async function keyIdOf(digits: string): Promise<string> {
  const described = `{"keytype":"ed25519","keyval":{"public":"${digits}"},"scheme":"ed25519"}`;
  return (await digestOf(new TextEncoder().encode(described))).slice("sha256:".length);
}

export async function open(base: string): Promise<OpenedBundle> {
  const manifestBytes = await get(base, "manifest.json");
  const envelope = await get(base, "manifest.json.dsse.json");
  interface Manifest {
    version: number;
    key: string;
    files: Record<string, string>;
  }
  const manifest = fields<Manifest>("manifest.json", parse("manifest.json", manifestBytes), { version: "number", key: "string", files: "object" });
  if (manifest.version !== 1) throw new RefusedInput(`manifest.json is of version ${manifest.version}, and this page reads version 1`);
  try {
    await checkSignature(manifestBytes, manifest.key, envelope);
  } catch (error) {
    if (error instanceof RefusedInput) throw error;
    throw new RefusedInput(`the signature of manifest.json cannot be checked: ${String(error)}`);
  }
  const read = async (path: string): Promise<Uint8Array<ArrayBuffer>> => {
    if (!(path in manifest.files) && `${path}.gz` in manifest.files) return inflated(await read(`${path}.gz`));
    const wanted = manifest.files[path];
    if (wanted === undefined) throw new RefusedInput(`\`${path}\` is not in manifest.json: it is of another bundle`);
    const bytes = await get(base, path);
    const found = await digestOf(bytes);
    if (found !== wanted) throw new RefusedInput(`\`${path}\` was changed: its digest is ${found}, and manifest.json has ${wanted}`);
    return bytes;
  };
  const digits = Array.from(bytesOf(manifest.key), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { key: { id: await keyIdOf(digits), public: digits }, paths: Object.keys(manifest.files), read };
}
