import { parse, stringify } from '../src/json.ts';
import { host } from './state.mjs';

export function call(item, params) {
  const called = host.items.get(item);
  if (called === undefined) {
    throw { category: 'denied', message: `\`${item}\` may not be called`, details: null };
  }
  try {
    return stringify(called(parse(params)));
  } catch (thrown) {
    if (typeof thrown?.category !== 'string') {
      throw thrown;
    }
    const { category, message, details } = thrown;
    throw { category, message, details: details == null ? null : stringify(details) };
  }
}
