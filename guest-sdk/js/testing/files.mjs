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

/** A folder of the files that a test has set. */
export class Folder extends Disposable {
  constructor(path) {
    super();
    this.path = path;
  }

  #at(rest) {
    return rest === '.' ? this.path : `${this.path}/${rest}`;
  }

  #isFolder(path) {
    return path === '' || host.folders.has(path) || [...host.files.keys()].some(file => file.startsWith(`${path}/`));
  }

  openAt(_, rest, how) {
    const path = this.#at(rest);
    if (this.#isFolder(path)) {
      if (!how.directory) {
        throw 'is-directory';
      }
      return new Folder(path);
    }
    if (how.directory) {
      throw host.files.has(path) ? 'not-directory' : 'no-entry';
    }
    if (!host.files.has(path) && !how.create) {
      throw 'no-entry';
    }
    if (!host.files.has(path) || how.truncate) {
      host.files.set(path, new Uint8Array());
    }
    return new File(path);
  }

  readDirectory() {
    const inside = [...host.files.keys(), ...[...host.folders].map(path => `${path}/`)].filter(file => file.startsWith(`${this.path}/`));
    const rests = inside.map(file => file.slice(this.path.length + 1));
    const names = [...new Set(rests.map(rest => rest.split('/')[0]))].filter(name => name !== '').sort();
    const entries = names.map(name => ({ name, type: rests.includes(name) ? 'regular-file' : 'directory' }));
    return Object.assign(new Disposable(), { readDirectoryEntry: () => entries.shift() ?? null });
  }

  statAt(_, rest) {
    const path = this.#at(rest);
    if (this.#isFolder(path)) {
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
    if (host.files.has(path) || this.#isFolder(path)) {
      throw 'exist';
    }
    host.folders.add(path);
  }

  unlinkFileAt(rest) {
    if (!host.files.delete(this.#at(rest))) {
      throw 'no-entry';
    }
  }
}
