/** Files in the granted folders. Needs `wasi:filesystem/types` in `wants`. Paths begin with the folder as the manifest names it to the node. */
import { getDirectories } from 'wasi:filesystem/preopens@0.2.12';
import type { Descriptor, DescriptorFlags, OpenFlags } from 'wasi:filesystem/types@0.2.12';
import { joined } from './chunks.js';
import { type Category, Failure, translated } from './failure.js';
import { decode, encode } from './utf8.js';

/** How much of a file one host call reads or writes. */
const CHUNK = 256 * 1024;

/** What an entry of a folder is. */
export type Kind = 'file' | 'folder' | 'link' | 'other';

/** An entry of a folder. */
export interface Entry {
  /** Its name in the folder. */
  name: string;
  /** What it is. */
  kind: Kind;
}

/** The whole content of a file. */
export function read(path: string): Uint8Array {
  return at(path, (folder, rest) => {
    using file = open(folder, rest, {}, { read: true });
    const chunks: Uint8Array[] = [];
    for (let length = 0; ; ) {
      const [bytes, end] = file.read(CHUNK, length);
      chunks.push(Uint8Array.from(bytes));
      length += bytes.length;
      if (end) {
        return joined(chunks);
      }
    }
  });
}

/** The whole content of a file, as UTF-8 text. */
export function readText(path: string): string {
  const text = decode(read(path));
  if (text === undefined) {
    throw new Failure('permanent', `${path}: is not UTF-8 text`);
  }
  return text;
}

/** Writes a file, in place of what it held. */
export function write(path: string, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? encode(content) : content;
  at(path, (folder, rest) => {
    using file = open(folder, rest, { create: true, truncate: true }, { write: true });
    let position = 0;
    while (position < bytes.length) {
      const written = Number(file.write(bytes.slice(position, position + CHUNK), position));
      if (written === 0) {
        throw new Failure('permanent', `${path}: nothing more could be written`);
      }
      position += written;
    }
  });
}

/** The entries of a folder, in order of their names. */
export function list(path: string): Entry[] {
  return at(path, (folder, rest) => {
    using descriptor = open(folder, rest, { directory: true }, { read: true });
    using entries = descriptor.readDirectory();
    const listed: Entry[] = [];
    for (let entry = entries.readDirectoryEntry(); entry != null; entry = entries.readDirectoryEntry()) {
      listed.push({ name: entry.name, kind: kindOf(entry.type) });
    }
    return listed;
  });
}

/** What an entry is, and its size in bytes. */
export function stat(path: string): { kind: Kind; size: number } {
  return at(path, (folder, rest) => {
    const { type, size } = folder.statAt({}, rest);
    return { kind: kindOf(type), size: Number(size) };
  });
}

/** Creates a folder in one that is there. */
export function createFolder(path: string): void {
  at(path, (folder, rest) => folder.createDirectoryAt(rest));
}

/** Removes a file. */
export function remove(path: string): void {
  at(path, (folder, rest) => folder.unlinkFileAt(rest));
}

function open(folder: Descriptor, rest: string, how: OpenFlags, flags: DescriptorFlags): Descriptor {
  return folder.openAt({ symlinkFollow: true }, rest, how, flags);
}

function kindOf(type: string): Kind {
  switch (type) {
    case 'regular-file':
      return 'file';
    case 'directory':
      return 'folder';
    case 'symbolic-link':
      return 'link';
    default:
      return 'other';
  }
}

/** Calls with the granted folder that a path lies in, and the path from there on. */
function at<T>(path: string, call: (folder: Descriptor, rest: string) => T): T {
  return granted(folders => within(folders, path, call));
}

function within<T>(folders: [Descriptor, string][], path: string, call: (folder: Descriptor, rest: string) => T): T {
  let best: { folder: Descriptor; rest: string; length: number } | undefined;
  for (const [folder, name] of folders) {
    const prefix = name.replace(/\/+$/, '');
    if ((path !== prefix || path === '') && !path.startsWith(`${prefix}/`)) {
      continue;
    }
    if (best === undefined || name.length > best.length) {
      best = { folder, rest: path.slice(prefix.length + 1) || '.', length: name.length };
    }
  }
  if (best === undefined) {
    const names = folders.map(([, name]) => name).join(', ') || 'none';
    throw new Failure('denied', `${path}: lies in no granted folder (granted: ${names})`);
  }
  const { folder, rest } = best;
  return translated(
    () => call(folder, rest),
    thrown => {
      const known = typeof thrown === 'string' ? CODES[thrown] : undefined;
      return known && new Failure(known[0], `${path}: ${known[1]}`);
    },
  );
}

/** Calls with the granted folders, which are closed afterwards: a call may hold only so many at once. */
function granted<T>(call: (folders: [Descriptor, string][]) => T): T {
  const folders = getDirectories();
  try {
    return call(folders);
  } finally {
    for (const [folder] of folders) {
      using _closed = folder;
    }
  }
}

/** What the codes of `wasi:filesystem/types` mean to a graph: the categories and, word for word, the texts that a node in Rust has. */
const CODES: Record<string, [Category, string]> = {
  access: ['denied', 'Permission denied, similar to `EACCES` in POSIX.'],
  'would-block': ['transient', 'Resource unavailable, or operation would block, similar to `EAGAIN` and `EWOULDBLOCK` in POSIX.'],
  already: ['permanent', 'Connection already in progress, similar to `EALREADY` in POSIX.'],
  'bad-descriptor': ['permanent', 'Bad descriptor, similar to `EBADF` in POSIX.'],
  busy: ['transient', 'Device or resource busy, similar to `EBUSY` in POSIX.'],
  deadlock: ['permanent', 'Resource deadlock would occur, similar to `EDEADLK` in POSIX.'],
  quota: ['permanent', 'Storage quota exceeded, similar to `EDQUOT` in POSIX.'],
  exist: ['permanent', 'File exists, similar to `EEXIST` in POSIX.'],
  'file-too-large': ['permanent', 'File too large, similar to `EFBIG` in POSIX.'],
  'illegal-byte-sequence': ['invalid-input', 'Illegal byte sequence, similar to `EILSEQ` in POSIX.'],
  'in-progress': ['permanent', 'Operation in progress, similar to `EINPROGRESS` in POSIX.'],
  interrupted: ['transient', 'Interrupted function, similar to `EINTR` in POSIX.'],
  invalid: ['invalid-input', 'Invalid argument, similar to `EINVAL` in POSIX.'],
  io: ['permanent', 'I/O error, similar to `EIO` in POSIX.'],
  'is-directory': ['invalid-input', 'Is a directory, similar to `EISDIR` in POSIX.'],
  loop: ['invalid-input', 'Too many levels of symbolic links, similar to `ELOOP` in POSIX.'],
  'too-many-links': ['permanent', 'Too many links, similar to `EMLINK` in POSIX.'],
  'message-size': ['permanent', 'Message too large, similar to `EMSGSIZE` in POSIX.'],
  'name-too-long': ['invalid-input', 'Filename too long, similar to `ENAMETOOLONG` in POSIX.'],
  'no-device': ['permanent', 'No such device, similar to `ENODEV` in POSIX.'],
  'no-entry': ['invalid-input', 'No such file or directory, similar to `ENOENT` in POSIX.'],
  'no-lock': ['permanent', 'No locks available, similar to `ENOLCK` in POSIX.'],
  'insufficient-memory': ['permanent', 'Not enough space, similar to `ENOMEM` in POSIX.'],
  'insufficient-space': ['permanent', 'No space left on device, similar to `ENOSPC` in POSIX.'],
  'not-directory': ['invalid-input', 'Not a directory or a symbolic link to a directory, similar to `ENOTDIR` in POSIX.'],
  'not-empty': ['permanent', 'Directory not empty, similar to `ENOTEMPTY` in POSIX.'],
  'not-recoverable': ['permanent', 'State not recoverable, similar to `ENOTRECOVERABLE` in POSIX.'],
  unsupported: ['permanent', 'Not supported, similar to `ENOTSUP` and `ENOSYS` in POSIX.'],
  'no-tty': ['permanent', 'Inappropriate I/O control operation, similar to `ENOTTY` in POSIX.'],
  'no-such-device': ['permanent', 'No such device or address, similar to `ENXIO` in POSIX.'],
  overflow: ['permanent', 'Value too large to be stored in data type, similar to `EOVERFLOW` in POSIX.'],
  'not-permitted': ['denied', 'Operation not permitted, similar to `EPERM` in POSIX.'],
  pipe: ['permanent', 'Broken pipe, similar to `EPIPE` in POSIX.'],
  'read-only': ['denied', 'Read-only file system, similar to `EROFS` in POSIX.'],
  'invalid-seek': ['permanent', 'Invalid seek, similar to `ESPIPE` in POSIX.'],
  'text-file-busy': ['transient', 'Text file busy, similar to `ETXTBSY` in POSIX.'],
  'cross-device': ['permanent', 'Cross-device link, similar to `EXDEV` in POSIX.'],
};
