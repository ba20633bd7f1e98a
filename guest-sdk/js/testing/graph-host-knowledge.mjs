import { host } from './state.mjs';

export function get(key) {
  return host.knowledge.get(key) ?? null;
}

export function put(key, text) {
  host.knowledge.set(key, text);
}

/** Finds entries that have all words, in the order of their keys; the host ranks them. */
export function search(prefix, query, limit) {
  const words = text => text.toLowerCase().split(/\s+/).filter(word => word !== '');
  return keysOf(prefix, null)
    .filter(key => words(query).every(word => words(host.knowledge.get(key)).includes(word)))
    .slice(0, Math.min(limit, 100))
    .map(key => ({ key, excerpt: host.knowledge.get(key).slice(0, 500) }));
}

export function list(prefix, after, limit) {
  return keysOf(prefix, after).slice(0, Math.min(limit, 1000));
}

function keysOf(prefix, after) {
  return [...host.knowledge.keys()].filter(key => key.startsWith(prefix) && (after === null || key > after)).sort();
}
