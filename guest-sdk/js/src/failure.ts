import { parse, stringify } from './json.js';
import type { WitFailure } from './wit.js';

const CATEGORIES = [
  'transient',
  'rate-limited',
  'timeout',
  'permanent',
  'invalid-input',
  'denied',
  'limit',
  'internal',
] as const;

/** What kind of failure it is. The retry policy of a graph goes by it. */
export type Category = (typeof CATEGORIES)[number];

/** Why a node failed. Throw it; anything else that is thrown is a failure of category `internal`. */
export class Failure extends Error {
  /** What kind of failure it is. */
  readonly category: Category;
  /** More, for a program: any JSON value. */
  readonly details: unknown;

  /** `message` is for a person: one short paragraph of plain text. */
  constructor(category: Category, message: string, details?: unknown) {
    super(message);
    if (!CATEGORIES.includes(category)) {
      throw new TypeError(`${JSON.stringify(category)} is no category of failures; they are: ${CATEGORIES.join(', ')}`);
    }
    if (details !== undefined) {
      // What JSON cannot hold is told here, where it is made.
      stringify(details);
    }
    this.name = 'Failure';
    this.category = category;
    this.details = details;
  }
}

/** What an import threw, as a failure, if `read` knows it; the value itself otherwise. */
export function translated<T>(call: () => T, read: (thrown: unknown) => Failure | undefined): T {
  try {
    return call();
  } catch (thrown) {
    // What the SDK or a double of a test has thrown is a failure already.
    throw thrown instanceof Failure ? thrown : (read(payload(thrown)) ?? thrown);
  }
}

/** A failure that the host gave; `undefined` for anything else that was thrown. */
export function given(thrown: unknown): Failure | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('category' in thrown)) {
    return undefined;
  }
  const { category, message, details } = thrown as WitFailure;
  return new Failure(category, message, details == null ? undefined : parse(details));
}

/** The value of an error that an imported function gave: it is thrown itself, or as the payload of an `Error`. */
export function payload(thrown: unknown): unknown {
  if (thrown instanceof Error && 'payload' in thrown) {
    return thrown.payload;
  }
  return thrown;
}
