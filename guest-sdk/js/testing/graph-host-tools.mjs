import { host } from './state.mjs';

export function call(item, params) {
  const called = host.items.get(item);
  if (called === undefined) {
    throw { category: 'denied', message: `\`${item}\` may not be called`, details: null };
  }
  return JSON.stringify(called(JSON.parse(params)));
}
