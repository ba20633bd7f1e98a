// The knowledge of this page: the entries of its bundle, overlaid with those that components have written to the browser's database. A text is
// durable when `put` has ended. As `host/store/src/knowledge/store.rs`.

import { DISPOSE } from "./interfaces/streams";
import type { KnowledgeQuestion, KnowledgeAnswer } from "./protocol";
import { errorOf, type Ranking, type Walker } from "./walker";

const NAME = "graph-host-knowledge";
/** Limits of entries, and of the bytes of all texts. */
const MAX_ENTRIES = 100_000;
const MAX_BYTES = 256 << 20;
/** Time limit of one search, in milliseconds. */
const LONGEST_SEARCH = 1000;
/** Number of entries that are read at a time. */
const BATCH = 16;

/** Thrown if a search takes too long. */
class SearchTimeout extends Error {}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Compares keys. They are ASCII: their order as strings is that of their bytes. */
const byKey = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function asked<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's storage failed"));
  });
}

export class KnowledgeBase {
  private readonly bundled: Map<string, string>;
  private database: Promise<IDBDatabase> | undefined;
  /** The last write. Writes are sequential: each reads the result of those before it. */
  private writing: Promise<unknown> = Promise.resolve();

  /** `place` is the address of the page: every page of an origin has its own knowledge. */
  constructor(
    private readonly walker: Walker,
    private readonly place: string,
    entries: { key: string; text: string }[],
  ) {
    this.bundled = new Map(entries.map(({ key, text }) => [key, text]));
  }

  private opened(): Promise<IDBDatabase> {
    if (!this.database) {
      const request = indexedDB.open(NAME, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("entries");
      this.database = asked(request);
    }
    return this.database;
  }

  private async store(mode: IDBTransactionMode): Promise<IDBObjectStore> {
    return (await this.opened()).transaction(["entries"], mode, { durability: "strict" }).objectStore("entries");
  }

  private async read(key: string): Promise<string | undefined> {
    const written = (await asked((await this.store("readonly")).get([this.place, key]))) as string | undefined;
    return written ?? this.bundled.get(key);
  }

  /** Visits all entries in one transaction, in batches: other pages of the same address may have written some. */
  private async each(look: (key: string, text: string) => void): Promise<void> {
    const store = await this.store("readonly");
    const written = new Set<string>();
    let range = IDBKeyRange.bound([this.place], this.end());
    for (;;) {
      const [keys, texts] = await Promise.all([asked(store.getAllKeys(range, BATCH)), asked(store.getAll(range, BATCH))]);
      for (const [at, key] of (keys as [string, string][]).entries()) {
        written.add(key[1]);
        look(key[1], texts[at] as string);
      }
      const last = keys.at(-1);
      if (last === undefined) break;
      range = IDBKeyRange.bound(last, this.end(), true);
    }
    for (const [key, text] of this.bundled) if (!written.has(key)) look(key, text);
  }

  /** Returns an upper bound of the keys of this page. */
  private end(): IDBValidKey {
    return [this.place, []];
  }

  private async put(key: string, text: string): Promise<KnowledgeAnswer> {
    let [entries, bytes, old] = [1, bytesOf(text).length, undefined as string | undefined];
    await this.each((other, kept) => {
      if (other === key) {
        old = kept;
        return;
      }
      entries += 1;
      bytes += bytesOf(kept).length;
    });
    if (old === text) return { kept: null };
    if (entries > MAX_ENTRIES || bytes > MAX_BYTES) {
      const message = `the project's knowledge is full: ${entries} entries and ${bytes} bytes; ${MAX_ENTRIES} and ${MAX_BYTES} are allowed`;
      return { error: "full", message };
    }
    const store = await this.store("readwrite");
    const done = new Promise<void>((resolve, reject) => {
      store.transaction.oncomplete = () => resolve();
      store.transaction.onabort = () => reject(store.transaction.error ?? new Error("the write was given up"));
    });
    store.put(text, [this.place, key]);
    await done;
    return { kept: null };
  }

  private async keys(prefix: string, after: string, limit: number): Promise<string[]> {
    const range = IDBKeyRange.bound([this.place, after < prefix ? prefix : after], this.end());
    const written = (await asked((await this.store("readonly")).getAllKeys(range))) as [string, string][];
    const all = new Set([...this.bundled.keys(), ...written.map(([, key]) => key)]);
    const keys = [...all].filter((key) => key.startsWith(prefix) && key > after);
    return keys.sort(byKey).slice(0, limit);
  }

  /** Searches with the walker's ranking, that of the native store. There is no index: every entry is read. */
  private async search({ prefix, query, limit }: KnowledgeQuestion & { of: "search" }): Promise<KnowledgeAnswer> {
    const ranking = this.ranking(prefix, query, limit);
    if (typeof ranking === "string") return { error: "invalid", message: ranking };
    const until = performance.now() + LONGEST_SEARCH;
    let bytes = 0;
    try {
      await this.each((key, text) => {
        if (performance.now() > until) throw new SearchTimeout();
        ranking.add(key, text);
        bytes += text.length;
      });
      const kept: [string, string][] = [];
      for (const key of ranking.best()) kept.push([key, ranking.excerpt((await this.read(key)) ?? "")]);
      return { kept };
    } catch (error) {
      if (!(error instanceof SearchTimeout)) throw error;
      const message = `the search took longer than ${LONGEST_SEARCH / 1000} s: a page looks at the whole text of every entry, and has read ${bytes >> 20} MiB in that time`;
      return { error: "unavailable", message };
    } finally {
      ranking[DISPOSE]();
    }
  }

  /** Opens the ranking of a search, or returns the reason why its query is invalid. */
  private ranking(prefix: string, query: string, limit: number): Ranking | string {
    try {
      return this.walker.host.Ranking.open(prefix, query, limit);
    } catch (error) {
      const message = errorOf(error);
      if (typeof message !== "string") throw error;
      return message;
    }
  }

  /** Answers a component. Keys, prefixes and grants are checked before. */
  async answer(question: KnowledgeQuestion): Promise<KnowledgeAnswer> {
    try {
      switch (question.of) {
        case "get":
          return { kept: (await this.read(question.key)) ?? null };
        case "put": {
          const written = this.writing.then(() => this.put(question.key, question.text));
          this.writing = written.catch(() => undefined);
          return await written;
        }
        case "list":
          return { kept: await this.keys(question.prefix, question.after ?? "", question.limit) };
        case "search":
          return await this.search(question);
      }
    } catch (error) {
      const reason = (error as DOMException).name === "QuotaExceededError" ? "the disk is full" : String((error as Error).message);
      return { error: "unavailable", message: `the project's knowledge cannot be used now: ${reason}` };
    }
  }
}
