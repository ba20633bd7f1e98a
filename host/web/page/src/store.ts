// Store of runs in the browser's database.

import type { Checkpoint } from "./driver";

const NAME = "graph-host";

/** Content of a `persist` effect, as JSON texts. */
export interface PersistedRecord {
  record: string;
  text?: string;
  /** Data for the page, if the record is a checkpoint. */
  checkpoint?: Checkpoint;
}

export interface StoredRun {
  run: string;
  graph: string;
  setup: string;
  status: string;
}

export class StorageFull extends Error {}

function asked<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's storage failed"));
  });
}

export class Store {
  private constructor(private readonly database: IDBDatabase) {}

  static async open(): Promise<Store> {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("runs", { keyPath: "run" });
      request.result.createObjectStore("records", { autoIncrement: true }).createIndex("run", "run");
      request.result.createObjectStore("keys");
    };
    return new Store(await asked(request));
  }

  private async write(stores: string[], change: (transaction: IDBTransaction) => void): Promise<void> {
    const transaction = this.database.transaction(stores, "readwrite", { durability: "strict" });
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("the write was given up"));
    });
    change(transaction);
    try {
      await done;
    } catch (error) {
      if ((error as DOMException).name !== "QuotaExceededError") throw error;
      throw new StorageFull("the browser's storage is full: remove runs of this page, or free space on the disk, and resume the run");
    }
  }

  /** Returns the private key of this page for its records: 64 hexadecimal digits. It leaves the browser only if the user exports it. */
  async key(): Promise<string> {
    const kept = (await asked(this.database.transaction("keys").objectStore("keys").get("page"))) as string | undefined;
    if (kept !== undefined) return kept;
    const made = Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    await this.write(["keys"], (transaction) => transaction.objectStore("keys").put(made, "page"));
    return made;
  }

  begin(run: StoredRun): Promise<void> {
    return this.write(["runs"], (transaction) => transaction.objectStore("runs").put(run));
  }

  add(run: string, persisted: PersistedRecord[]): Promise<void> {
    return this.write(["records"], (transaction) => {
      for (const one of persisted) transaction.objectStore("records").add({ run, ...one });
    });
  }

  async runs(): Promise<StoredRun[]> {
    return (await asked(this.database.transaction("runs").objectStore("runs").getAll())) as StoredRun[];
  }

  async persisted(run: string): Promise<PersistedRecord[]> {
    const index = this.database.transaction("records").objectStore("records").index("run");
    return (await asked(index.getAll(run))) as PersistedRecord[];
  }

  remove(run: string): Promise<void> {
    return this.write(["runs", "records"], (transaction) => {
      transaction.objectStore("runs").delete(run);
      const found = transaction.objectStore("records").index("run").openKeyCursor(run);
      found.onsuccess = () => {
        const cursor = found.result;
        if (!cursor) return;
        transaction.objectStore("records").delete(cursor.primaryKey);
        cursor.continue();
      };
    });
  }
}
