import { parse, stringify } from './json.js';
import type { Activation } from './wit.js';

/** A question that is not answered yet. It ends the call, and the function runs again from its top once the answer is there. */
export class Question {
  constructor(readonly value: unknown) {}
}

/** What a node is told beside its params. */
export class Context {
  /** Run, node, superstep, attempt, visit and idempotency key. */
  readonly activation: Activation;
  #asked = 0;

  /** A test makes one by itself, with what the node looks at. */
  constructor(activation: Partial<Activation> = {}) {
    this.activation = { ...UNKNOWN, ...activation };
  }

  /** The argument of the send, or the item of the `foreach`, that made this task; `undefined` without one. */
  argument<T = unknown>(): T | undefined {
    const { argument } = this.activation;
    return argument === null ? undefined : (parse(argument) as T);
  }

  /**
   * Asks a person and gives the answer. The first time the call ends here, the task is suspended, and the function runs again from its
   * top when the answer is there: whatever comes before must do the same again.
   */
  ask<T = unknown>(question: unknown): T {
    const answer = this.activation.answers[this.#asked++];
    if (answer === undefined) {
      // What JSON cannot hold is told here.
      stringify(question);
      throw new Question(question);
    }
    return parse(answer) as T;
  }
}

const UNKNOWN: Activation = {
  runId: '',
  rootRunId: '',
  parentRunId: null,
  graphId: '',
  nodeId: '',
  superstep: 1,
  task: '1.0',
  attempt: 1,
  visit: 1,
  argument: null,
  answers: [],
  idempotencyKey: '',
};
