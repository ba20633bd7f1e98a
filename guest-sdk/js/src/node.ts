import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { Command } from './command.js';
import { Context, Question } from './context.js';
import { Failure, payload } from './failure.js';
import { started } from './globals.js';
import { parse, stringify } from './json.js';
import type { Activation, WitDescription, WitFailure, WitOutcome } from './wit.js';

/** The type of the values that a JSON Schema describes. */
export type ValueOf<S> = S extends JSONSchema ? FromSchema<S> : never;

/** What a node is. */
export interface Definition<P, R> {
  /** What the node does, in one sentence. */
  summary: string;
  /**
   * JSON Schema (2020-12) of its params, an object: the host checks them, and the type of `run`'s first parameter follows from it. An integer
   * that a number cannot hold exactly is a `bigint`, though its type says `number`.
   */
  params: P;
  /** JSON Schema of its result; the type of what `run` returns follows from it. */
  result: R;
  /**
   * The interfaces that it uses, each with why, such as `{ 'wasi:filesystem/types': 'reads the files that it counts' }`. `log` and `emit`
   * are always granted. What is used and not named here is taken out of the component.
   */
  wants?: Record<string, string>;
  /** Performs one task. Every call begins with the same memory: nothing is kept from call to call. */
  run(params: ValueOf<P>, context: Context): ValueOf<R> | Command;
}

/** The interface `graph-host:node/action` of a node. Export it as `action`. */
export interface Action<Params, Result> {
  /** @internal */
  describe(): WitDescription;
  /** @internal */
  run(activation: Activation, params: string): WitOutcome;
  /** What performs a task, for tests: `action.perform({ name: 'Ada' }, new Context())`. */
  perform(params: Params, context: Context): Result | Command;
}

/** Makes the action of a node. */
export const node: <const P, const R>(definition: Definition<P, R>) => Action<ValueOf<P>, ValueOf<R>> =
  actionOf as never;

/** A definition whose types are not looked at. */
interface Untyped {
  summary: string;
  params: unknown;
  result: unknown;
  wants?: Record<string, string>;
  run(params: unknown, context: Context): unknown;
}

function actionOf(definition: Untyped): Action<unknown, unknown> {
  const perform = (params: unknown, context: Context) => {
    started();
    return definition.run(params, context);
  };
  return {
    perform,
    describe() {
      started();
      const interfaces = Object.entries(definition.wants ?? {}).map(([name, why]) => ({ name, why }));
      const { summary } = definition;
      return { summary, params: stringify(definition.params), result: stringify(definition.result), interfaces };
    },
    run(activation, params) {
      started();
      try {
        return outcome(perform(parse(params), new Context(activation)));
      } catch (thrown) {
        if (thrown instanceof Question) {
          return { tag: 'interrupt', val: stringify(thrown.value) };
        }
        throw failure(thrown);
      }
    },
  };
}

function outcome(value: unknown): WitOutcome {
  if (value instanceof Command) {
    return { tag: 'command', val: value.toWit() };
  }
  if (value instanceof Promise) {
    throw new Failure('internal', '`run` gave a promise: a node answers before its call ends, without `async`');
  }
  return { tag: 'result', val: stringify(value) };
}

function failure(thrown: unknown): WitFailure {
  if (thrown instanceof Failure) {
    const { category, message, details } = thrown;
    return { category, message: message.toWellFormed(), details: details === undefined ? null : stringify(details) };
  }
  const given = payload(thrown);
  const message = given instanceof Error ? `${given.name}: ${given.message}` : shown(given);
  return { category: 'internal', message: message.toWellFormed(), details: null };
}

/** A value that was thrown, as far as it can be written. */
function shown(value: unknown): string {
  try {
    return stringify(value);
  } catch {
    return String(value);
  }
}
