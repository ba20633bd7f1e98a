/** What a node under test finds in place of a host. */
export declare const host: {
  /** Log lines that it wrote. */
  lines: { level: string; message: string }[];
  /** Records that it added to the event stream. */
  records: { name: string; payload: unknown }[];
  /** The files of the granted folder `/`, by path. */
  files: Map<string, Uint8Array>;
  /** The entries of the knowledge store, by key. */
  knowledge: Map<string, string>;
  /** The handles of granted secrets, by name. */
  secrets: Map<string, string>;
  /** The items that may be called, by id. One fails by throwing `{ category, message, details }`. */
  items: Map<string, (params: unknown) => unknown>;
  /** The time of the superstep, in milliseconds since 1970. */
  clock: number;
  /** Answers a request. Without it, every request is denied. */
  serve: ((request: Request) => Answer) | undefined;
};

/** A request that a node sends. */
export interface Request {
  method: string;
  url: string;
  fields: [string, Uint8Array][];
  body: Uint8Array;
}

/** What a server answers. */
export interface Answer {
  status: number;
  fields?: [string, Uint8Array][];
  body: Uint8Array;
}
