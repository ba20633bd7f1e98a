// The knowledge of this page: the entries of its bundle, and over them what components have written, in the browser's database. A text is
// durable when `put` has ended. As `host/store/src/knowledge/store.rs`.

import type { KnowledgeQuestion, Told } from "./protocol";
import { errorOf, type Walker } from "./walker";

const NAME = "graph-host-knowledge";
/** The most entries, and the most bytes of all texts. */
const MAX_ENTRIES = 100_000;
const MAX_BYTES = 256 << 20;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Keys are ASCII: their order as texts is that of their bytes. */
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
  /** Writes happen one after the other: each looks at what the ones before it have left. */
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

  /** All entries. Other pages of the same address may have written some. */
  private async entries(): Promise<Map<string, string>> {
    const store = await this.store("readonly");
    const range = IDBKeyRange.bound([this.place], [this.place, []]);
    const [keys, texts] = await Promise.all([asked(store.getAllKeys(range)), asked(store.getAll(range))]);
    const all = new Map(this.bundled);
    for (const [at, key] of keys.entries()) all.set((key as [string, string])[1], texts[at] as string);
    return all;
  }

  private async put(key: string, text: string): Promise<Told> {
    const entries = await this.entries();
    if (entries.get(key) === text) return { kept: null };
    entries.set(key, text);
    let bytes = 0;
    for (const one of entries.values()) bytes += bytesOf(one).length;
    if (entries.size > MAX_ENTRIES || bytes > MAX_BYTES) {
      const message = `the project's knowledge is full: ${entries.size} entries and ${bytes} bytes; ${MAX_ENTRIES} and ${MAX_BYTES} are allowed`;
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
    const keys = [...(await this.entries()).keys()].filter((key) => key.startsWith(prefix) && key > after);
    return keys.sort(byKey).slice(0, limit);
  }

  /** The walker ranks, as the native store does. */
  private search(entries: [string, string][], { prefix, query, limit }: KnowledgeQuestion & { of: "search" }): Told {
    try {
      return { kept: this.walker.host.rank(entries, prefix, query, limit) };
    } catch (error) {
      const message = errorOf(error);
      if (typeof message !== "string") throw error;
      return { error: "invalid", message };
    }
  }

  /** Answers a component. Keys, prefixes and grants were checked. */
  async answer(question: KnowledgeQuestion): Promise<Told> {
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
          return this.search([...(await this.entries())], question);
      }
    } catch (error) {
      const reason = (error as DOMException).name === "QuotaExceededError" ? "the disk is full" : String((error as Error).message);
      return { error: "unavailable", message: `the project's knowledge cannot be used now: ${reason}` };
    }
  }
}
