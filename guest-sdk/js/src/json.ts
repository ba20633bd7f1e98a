import { isInteger, isSafeNumber, parse as parseLossless, stringify as stringifyLossless } from 'lossless-json';

/** Reads JSON text. An integer that a number cannot hold exactly becomes a `bigint`. */
export function parse(text: string): unknown {
  return parseLossless(text, undefined, digits =>
    isInteger(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits),
  );
}

/** Writes JSON text. A `bigint` is an integer; what JSON cannot hold is a `TypeError`. */
export function stringify(value: unknown): string {
  const text = stringifyLossless(finite(value));
  if (text === undefined) {
    throw new TypeError('a value that JSON cannot hold: a function, a symbol or undefined');
  }
  return text;
}

/** JSON has no numbers that are not finite, and `null` in their place would be another value. */
function finite(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new TypeError(`JSON cannot hold ${value}`);
  }
  if (Array.isArray(value)) {
    value.forEach(finite);
  } else if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(finite);
  }
  return value;
}
