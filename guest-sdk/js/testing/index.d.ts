/** What a node under test finds in place of a host. */
export declare const host: {
  /** Log lines that it wrote. */
  lines: { level: string; message: string }[];
  /** Records that it added to the event stream. */
  records: { name: string; payload: unknown }[];
  /** The files of the granted folder `/`, by path. */
  files: Map<string, Uint8Array>;
  /** Folders without files, by path. */
  folders: Set<string>;
  /** The entries of the knowledge store, by key. */
  knowledge: Map<string, string>;
  /** The items that may be called, by id. One fails by throwing `{ category, message, details }`. */
  items: Map<string, (params: unknown) => unknown>;
  /** The time of the superstep, in milliseconds since 1970. `Date.now()` and `new Date()` give it, too. */
  clock: number;
};
