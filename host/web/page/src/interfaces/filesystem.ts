// `wasi:filesystem` over files of the bundle, or of folders that the user has granted, read-only: as `host/engine/src/host/filesystem`.

import { Fault } from "../fault";
import type { Journal } from "../journal";
import type { Plain } from "../json";
import type { Mount } from "../protocol";
import { HostResource, InputStream, OutputStream, type Handles } from "./streams";

const TYPES = "wasi:filesystem/types";
const MAX_CHUNK = 1 << 20;
const MAX_ENTRIES = 100_000;

type Kind = "directory" | "regular-file";
const KIND_NAMES: Record<Kind, string> = { directory: "folder", "regular-file": "file" };
const kindNamed = (name: unknown): Kind => (name === "folder" ? "directory" : "regular-file");

interface Flags {
  [name: string]: boolean | undefined;
}

interface Stat {
  type: Kind;
  linkCount: bigint;
  size: bigint;
}

/** The files of all mounts, by path, and the entries of their folders. */
export class Files {
  private readonly folders = new Map<string, Map<string, Kind>>();

  constructor(
    private readonly blobs: Map<string, Blob>,
    empty: string[],
  ) {
    for (const path of blobs.keys()) this.add(path);
    for (const path of empty) {
      if (this.folders.has(path)) continue;
      this.add(path, "directory");
      this.folders.set(path, new Map());
    }
  }

  private add(path: string, of: Kind = "regular-file"): void {
    let kind = of;
    let at = path;
    for (let slash = at.lastIndexOf("/"); slash >= 0; slash = at.lastIndexOf("/")) {
      const folder = at.slice(0, slash) || "/";
      const entries = this.folders.get(folder);
      const name = at.slice(slash + 1);
      if (name === "") return;
      if (entries) {
        entries.set(name, kind);
        return;
      }
      this.folders.set(folder, new Map([[name, kind]]));
      kind = "directory";
      at = folder;
    }
  }

  kind(path: string): Kind | undefined {
    if (this.blobs.has(path)) return "regular-file";
    return this.folders.has(path) ? "directory" : undefined;
  }

  entries(path: string): [string, Kind][] {
    const encoder = new TextEncoder();
    const each = [...(this.folders.get(path) ?? [])].map((entry) => ({ entry, bytes: encoder.encode(entry[0]) }));
    const order = (a: Uint8Array, b: Uint8Array): number => {
      for (let at = 0; at < Math.min(a.length, b.length); at += 1) if (a[at] !== b[at]) return (a[at] ?? 0) - (b[at] ?? 0);
      return a.length - b.length;
    };
    return each.sort((a, b) => order(a.bytes, b.bytes)).map(({ entry }) => entry);
  }

  size(path: string): number {
    return this.blobs.get(path)?.size ?? 0;
  }

  read(path: string, offset: number, length: number): Uint8Array {
    const blob = this.blobs.get(path);
    if (!blob) throw "no-entry";
    return new Uint8Array(new FileReaderSync().readAsArrayBuffer(blob.slice(offset, offset + length)));
  }
}

/** Resolves a path from a folder of the mount at `root`; a path that leaves the mount is not permitted. */
function resolve(root: string, folder: string, path: string): string {
  if (path.startsWith("/")) throw "not-permitted";
  if (path === "") throw "no-entry";
  const parts = folder.slice(root.length).split("/").filter((part) => part !== "");
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) throw "not-permitted";
  }
  return [root.replace(/\/$/, ""), ...parts].join("/") || "/";
}

export function filesystem(mounts: Mount[], files: Files, journal: Journal, handles: Handles): Record<string, object> {
  const stat = (type: Kind, size: number): Stat => ({ type, linkCount: 1n, size: BigInt(size) });
  const keptStat = (found: Stat): Plain => ({ kind: KIND_NAMES[found.type], size: Number(found.size) });
  const asStat = (kept: Plain): Stat => {
    const { kind, size } = kept as { kind: string; size: number };
    return stat(kindNamed(kind), size);
  };
  const kindOf = (host: string): Kind => {
    const kind = files.kind(host);
    if (kind === undefined) throw "no-entry";
    return kind;
  };

  class DirectoryEntryStream extends HostResource {
    constructor(private readonly left: { name: string; type: Kind }[]) {
      super(handles);
    }

    readDirectoryEntry(): { name: string; type: Kind } | undefined {
      return this.left.shift();
    }
  }

  class Descriptor extends HostResource {
    /** `host` is the path in the files, `path` the path that the component sees, `root` the mount's folder. */
    constructor(
      private readonly root: string,
      private readonly host: string,
      readonly path: string,
      private readonly type: Kind,
    ) {
      super(handles);
    }

    private below(path: string): string {
      return `${this.path.replace(/\/+$/, "")}/${path}`;
    }

    private folder(): void {
      if (this.type !== "directory") throw "not-directory";
    }

    private file(): void {
      if (this.type === "directory") throw "is-directory";
    }

    content(of: string, offset: number, length: number): Uint8Array {
      const read = (wanted: number): Uint8Array => files.read(this.host, offset, wanted);
      return journal.call(
        TYPES,
        of,
        { path: this.path, offset, length },
        () => {
          const value = read(length);
          return { value, kept: journal.content(value) };
        },
        (kept) => journal.contentAgain(kept, this.path, (wanted) => read(Math.min(wanted, MAX_CHUNK))),
      );
    }

    readViaStream(offset: bigint): InputStream {
      this.file();
      let position = Number(offset);
      return new InputStream(handles, (size) => {
        const length = Number(size < BigInt(MAX_CHUNK) ? size : BigInt(MAX_CHUNK));
        const bytes = this.content("input-stream.read", position, length);
        position += bytes.length;
        return bytes;
      });
    }

    writeViaStream(): OutputStream {
      this.file();
      throw "bad-descriptor";
    }

    appendViaStream(): OutputStream {
      return this.writeViaStream();
    }

    advise(): void {
      this.file();
    }

    syncData(): void {
      this.change("sync-data");
    }

    sync(): void {
      this.change("sync");
    }

    private change(of: string): void {
      this.file();
      journal.call(TYPES, of, { path: this.path }, () => ({ value: undefined, kept: null }), () => undefined);
    }

    getFlags(): Flags {
      return { read: true };
    }

    getType(): Kind {
      return this.type;
    }

    setSize(): never {
      this.file();
      throw "bad-descriptor";
    }

    setTimes(): never {
      throw "unsupported";
    }

    setTimesAt(): never {
      throw "unsupported";
    }

    read(length: bigint, offset: bigint): [Uint8Array, boolean] {
      this.file();
      const most = Number(length < BigInt(MAX_CHUNK) ? length : BigInt(MAX_CHUNK));
      const bytes = this.content("read", Number(offset), most);
      return [bytes, bytes.length === 0 && length > 0n];
    }

    write(): never {
      this.file();
      throw "bad-descriptor";
    }

    readDirectory(): DirectoryEntryStream {
      this.folder();
      const entries = journal.call(
        TYPES,
        "read-directory",
        { path: this.path },
        () => {
          const value = files.entries(this.host).map(([name, type]) => ({ name, type }));
          if (value.length > MAX_ENTRIES) throw new Fault("limit", `it listed a folder with more than ${MAX_ENTRIES} entries`);
          return { value, kept: value.map(({ name, type }) => [name, KIND_NAMES[type]]) };
        },
        (kept) => (kept as [string, string][]).map(([name, type]) => ({ name, type: kindNamed(type) })),
      );
      return new DirectoryEntryStream(entries);
    }

    stat(): Stat {
      return journal.call(
        TYPES,
        "stat",
        { path: this.path },
        () => {
          const value = stat(this.type, files.size(this.host));
          return { value, kept: keptStat(value) };
        },
        asStat,
      );
    }

    statAt(flags: Flags, path: string): Stat {
      this.folder();
      return journal.call(
        TYPES,
        "stat-at",
        { path: this.below(path), follow: flags["symlinkFollow"] === true },
        () => {
          const host = resolve(this.root, this.host, path);
          const value = stat(kindOf(host), files.size(host));
          return { value, kept: keptStat(value) };
        },
        asStat,
      );
    }

    linkAt(): never {
      throw "not-permitted";
    }

    symlinkAt(): never {
      throw "not-permitted";
    }

    openAt(follow: Flags, path: string, open: Flags, flags: Flags): Descriptor {
      this.folder();
      if (open["create"] || open["truncate"] || open["exclusive"] || flags["write"] || flags["mutateDirectory"]) throw "read-only";
      const named: [boolean | undefined, string][] = [
        [follow["symlinkFollow"], "follow"],
        [open["directory"], "directory"],
        [flags["read"], "read"],
      ];
      const request = { path: this.below(path), flags: named.filter(([set]) => set).map(([, name]) => name) };
      const type = journal.call<Kind>(
        TYPES,
        "open-at",
        request,
        () => {
          const value = kindOf(resolve(this.root, this.host, path));
          if (open["directory"] && value !== "directory") throw "not-directory";
          return { value, kept: KIND_NAMES[value] };
        },
        kindNamed,
      );
      let host: string;
      try {
        host = resolve(this.root, this.host, path);
      } catch {
        host = "";
      }
      return new Descriptor(this.root, host, this.below(path), type);
    }

    readlinkAt(path: string): never {
      this.folder();
      return journal.call<never>(
        TYPES,
        "readlink-at",
        { path: this.below(path) },
        () => {
          kindOf(resolve(this.root, this.host, path));
          throw "invalid";
        },
        () => {
          throw journal.contentDiffers("its result is not one of this function");
        },
      );
    }

    private readOnly(): never {
      this.folder();
      throw "read-only";
    }

    createDirectoryAt(): never {
      return this.readOnly();
    }

    removeDirectoryAt(): never {
      return this.readOnly();
    }

    renameAt(): never {
      return this.readOnly();
    }

    unlinkFileAt(): never {
      return this.readOnly();
    }

    isSameObject(other: Descriptor): boolean {
      return this.path === other.path;
    }

    metadataHash(): never {
      throw "unsupported";
    }

    metadataHashAt(): never {
      throw "unsupported";
    }
  }

  return {
    "wasi:filesystem/types": { Descriptor, DirectoryEntryStream, filesystemErrorCode: () => undefined },
    "wasi:filesystem/preopens": {
      getDirectories: () => mounts.map((mount) => [new Descriptor(mount.host, mount.host, mount.guest, "directory"), mount.guest]),
    },
  };
}
