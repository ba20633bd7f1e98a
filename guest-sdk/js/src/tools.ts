/** Calls of other items. Needs `graph-host:host/tools` in `wants`. */
import { call as callItem } from 'graph-host:host/tools@0.1.0';
import { given, translated } from './failure.js';
import { parse, stringify } from './json.js';

/** Calls an item and gives its result. It uses this node's fuel and time. Its failure is thrown as one of this node. */
export function call<T = unknown>(item: string, params: unknown): T {
  return parse(translated(() => callItem(item, stringify(params)), given)) as T;
}
