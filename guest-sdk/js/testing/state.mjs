const initial = () => ({
  /** Log lines: `{ level, message }`. */
  lines: [],
  /** Records of the event stream: `{ name, payload }`. */
  records: [],
  /** The granted folders. */
  granted: ['/'],
  /** Files of the granted folders, by path: `Uint8Array`s. */
  files: new Map(),
  /** Folders that the node has created, or has emptied, by path. */
  folders: new Set(),
  /** Entries of the knowledge store, by key. */
  knowledge: new Map(),
  /** Handles of secrets, by name. */
  secrets: new Map(),
  /** Answers a request of the node; without one, every request is refused. */
  serve: undefined,
  /** Items, by id: each a function from params to a result. */
  items: new Map(),
  /** Granted language models, by name: what each answers to its next calls. */
  models: new Map(),
  /** What is left of the task's budget of models. */
  modelBudget: {},
  /** The requests that language models were sent. */
  modelRequests: [],
  /** The time of the superstep, in milliseconds since 1970. */
  clock: 0,
  /** Where random numbers begin. */
  seed: 0,
});

/** How often a test has begun anew. */
export let beginnings = 0;

/** What the doubles of the host hold. A test sets it, and reads what a node has done. */
export const host = {
  ...initial(),
  /** Begins anew: nothing is granted but `/`, and nothing was done. */
  reset() {
    beginnings += 1;
    Object.assign(host, initial());
  },
};
