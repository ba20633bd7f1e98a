/** The imports of a node, as they are in JavaScript: the parts of their WIT that the SDK uses. */

declare module 'graph-host:host/log@0.1.0' {
  export function log(level: import('./host.js').Level, message: string): void;
}

declare module 'graph-host:host/events@0.1.0' {
  export function emit(name: string, payload: string): void;
}

declare module 'graph-host:host/tools@0.1.0' {
  export function call(item: string, params: string): string;
}

declare module 'graph-host:host/knowledge@0.1.0' {
  export function get(key: string): string | null;
  export function put(key: string, text: string): void;
  export function search(prefix: string, query: string, limit: number): { key: string; excerpt: string }[];
  export function list(prefix: string, after: string | null, limit: number): string[];
}

declare module 'wasi:clocks/wall-clock@0.2.12' {
  export function now(): { seconds: number | bigint; nanoseconds: number };
}

declare module 'wasi:clocks/monotonic-clock@0.2.12' {
  export function subscribeDuration(nanoseconds: number): Disposable & { block(): void };
}

declare module 'wasi:random/random@0.2.12' {
  export function getRandomBytes(count: number): ArrayLike<number>;
}

declare module 'wasi:filesystem/preopens@0.2.12' {
  export function getDirectories(): [import('wasi:filesystem/types@0.2.12').Descriptor, string][];
}

declare module 'wasi:filesystem/types@0.2.12' {
  export interface OpenFlags {
    create?: boolean;
    directory?: boolean;
    truncate?: boolean;
  }

  export interface DescriptorFlags {
    read?: boolean;
    write?: boolean;
  }

  export interface DirectoryEntryStream extends Disposable {
    readDirectoryEntry(): { type: string; name: string } | null;
  }

  export interface Descriptor extends Disposable {
    read(length: number, offset: number): [ArrayLike<number>, boolean];
    write(bytes: Uint8Array, offset: number): number | bigint;
    readDirectory(): DirectoryEntryStream;
    openAt(flags: { symlinkFollow?: boolean }, path: string, how: OpenFlags, as: DescriptorFlags): Descriptor;
    statAt(flags: { symlinkFollow?: boolean }, path: string): { type: string; size: number | bigint };
    createDirectoryAt(path: string): void;
    unlinkFileAt(path: string): void;
  }
}

