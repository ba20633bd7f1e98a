import { host } from './state.mjs';

export function get(key) {
  return host.knowledge.get(key) ?? null;
}

export function put(key, text) {
  host.knowledge.set(key, text);
}

/** Finds entries that hold all words; the host also ranks them. */
export function search(prefix, query, limit) {
  const words = query.toLowerCase().split(/\s+/);
  return list(prefix, null, 1000)
    .filter(key => words.every(word => host.knowledge.get(key).toLowerCase().includes(word)))
    .slice(0, limit)
    .map(key => ({ key, excerpt: host.knowledge.get(key).slice(0, 500) }));
}

export function list(prefix, after, limit) {
  const keys = [...host.knowledge.keys()].filter(key => key.startsWith(prefix) && (after === null || key > after));
  return keys.sort().slice(0, limit);
}
