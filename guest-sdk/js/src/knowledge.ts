/** Texts by key that outlast a run, in the scopes that the manifest names. Needs `graph-host:host/knowledge` in `wants`. */
import * as knowledge from 'graph-host:host/knowledge@0.1.0';
import { type Category, Failure, translated } from './failure.js';

/** An entry that a search found. */
export interface Hit {
  /** Its key. */
  key: string;
  /** The part of its text that fits best, at most 500 bytes, on one line. */
  excerpt: string;
}

const CATEGORIES: Record<string, Category> = {
  denied: 'denied',
  invalid: 'invalid-input',
  full: 'limit',
  unavailable: 'transient',
};

function asked<T>(call: () => T): T {
  return translated(call, thrown => {
    const { tag, val } = (thrown ?? {}) as { tag?: string; val?: string };
    const category = tag === undefined ? undefined : CATEGORIES[tag];
    return category && new Failure(category, val ?? '');
  });
}

/** The text of a key; `undefined` if there is no such entry. */
export function get(key: string): string | undefined {
  return asked(() => knowledge.get(key)) ?? undefined;
}

/** Writes the text of a key, in place of what it held. It stays, whatever comes of the task. */
export function put(key: string, text: string): void {
  asked(() => knowledge.put(key, text));
}

/** The entries below a prefix that hold all words of a query, best first; at most 100. */
export function search(prefix: string, query: string, limit = 100): Hit[] {
  return asked(() => knowledge.search(prefix, query, limit));
}

/** The keys that begin with a prefix, from the one behind `after` on; at most 1000. */
export function list(prefix: string, after?: string, limit = 1000): string[] {
  return asked(() => knowledge.list(prefix, after ?? null, limit));
}
