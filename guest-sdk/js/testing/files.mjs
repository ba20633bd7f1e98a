import { Disposable } from './disposable.mjs';
import { host } from './state.mjs';

class File extends Disposable {
  constructor(path) {
    super();
    this.path = path;
  }

  read(length, offset) {
    const bytes = host.files.get(this.path);
    return [bytes.slice(offset, offset + length), offset + length >= bytes.length];
  }

  write(bytes, offset) {
    const before = host.files.get(this.path);
    const after = new Uint8Array(Math.max(before.length, offset + bytes.length));
    after.set(before);
    after.set(bytes, offset);
    host.files.set(this.path, after);
    return bytes.length;
  }
}

const withSlash = path => `${path.replace(/\/+$/, '')}/`;
const parent = path => path.slice(0, path.lastIndexOf('/')) || '/';
const paths = () => [...host.files.keys(), ...host.folders, ...host.granted];

/** A folder is there if it is granted, was created, or has something below it. */
function isFolder(path) {
  const named = path === '/' || host.folders.has(path) || host.granted.some(granted => withSlash(granted) === withSlash(path));
  return named || paths().some(other => other.startsWith(withSlash(path)));
}

function checkFolder(path) {
  if (!isFolder(path)) {
    throw host.files.has(path) ? 'not-directory' : 'no-entry';
  }
}

/** A folder of the files that a test has set. */
export class Folder extends Disposable {
  constructor(path) {
    super();
    this.path = path;
  }

  #at(rest) {
    return rest === '.' ? this.path : `${withSlash(this.path)}${rest}`;
  }

  openAt(_, rest, how) {
    const path = this.#at(rest);
    if (how.directory) {
      checkFolder(path);
      return new Folder(path);
    }
    if (isFolder(path)) {
      throw 'is-directory';
    }
    if (!host.files.has(path)) {
      if (!how.create) {
        throw 'no-entry';
      }
      checkFolder(parent(path));
    }
    if (!host.files.has(path) || how.truncate) {
      host.files.set(path, new Uint8Array());
    }
    return new File(path);
  }

  readDirectory() {
    const prefix = withSlash(this.path);
    const inside = paths().filter(other => other.startsWith(prefix)).map(other => other.slice(prefix.length).split('/')[0]);
    const names = [...new Set(inside)].filter(name => name !== '').sort();
    const entries = names.map(name => ({ name, type: isFolder(`${prefix}${name}`) ? 'directory' : 'regular-file' }));
    return Object.assign(new Disposable(), { readDirectoryEntry: () => entries.shift() ?? null });
  }

  statAt(_, rest) {
    const path = this.#at(rest);
    if (isFolder(path)) {
      return { type: 'directory', size: 0 };
    }
    const bytes = host.files.get(path);
    if (bytes === undefined) {
      throw 'no-entry';
    }
    return { type: 'regular-file', size: bytes.length };
  }

  createDirectoryAt(rest) {
    const path = this.#at(rest);
    if (host.files.has(path) || isFolder(path)) {
      throw 'exist';
    }
    checkFolder(parent(path));
    host.folders.add(path);
  }

  unlinkFileAt(rest) {
    const path = this.#at(rest);
    if (isFolder(path)) {
      throw 'is-directory';
    }
    if (!host.files.delete(path)) {
      throw 'no-entry';
    }
    // The folder stays where nothing is in it any more.
    host.folders.add(parent(path));
  }
}
