import { isInteger, parse as parseLossless, stringify as stringifyLossless } from 'lossless-json';

/** Reads JSON text. An integer that a number cannot hold exactly becomes a `bigint`. */
export function parse(text: string): unknown {
  return parseLossless(text, undefined, digits => {
    const number = Number(digits);
    const exact = Number.isSafeInteger(number) || String(number) === digits || !isInteger(digits);
    return exact ? number : BigInt(digits);
  });
}

/**
 * Writes JSON text. A `bigint` is an integer. What JSON cannot hold is a `TypeError`: functions, symbols, maps, sets, numbers that are not
 * finite, texts with half a character. A property that is `undefined` is left out.
 */
export function stringify(value: unknown): string {
  check(value, 'the value');
  return stringifyLossless(value) as string;
}

/** Refuses what would be written as another value, or as none. `at` is where it stands. */
function check(value: unknown, at: string): void {
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) {
        throw new TypeError(`${at}: JSON cannot hold ${value}`);
      }
      break;
    case 'string':
      if (!value.isWellFormed()) {
        throw new TypeError(`${at}: a text with half a character, which UTF-8 cannot hold`);
      }
      break;
    case 'function':
    case 'symbol':
    case 'undefined':
      throw new TypeError(`${at}: JSON cannot hold ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}`);
    case 'object':
      if (value !== null) {
        checkParts(value, at);
      }
  }
}

function checkParts(value: object, at: string): void {
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) {
    throw new TypeError(`${at}: JSON cannot hold a ${value.constructor.name}: make an object or an array of it`);
  }
  if (Array.isArray(value)) {
    value.forEach((part, index) => check(part, `${at}[${index}]`));
    return;
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    return;
  }
  for (const [key, part] of Object.entries(value)) {
    if (part !== undefined) {
      check(key, at);
      check(part, `${at}.${key}`);
    }
  }
}
