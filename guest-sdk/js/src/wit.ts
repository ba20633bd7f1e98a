/** The types of `graph-host:node/types`, as they are in JavaScript. */

import type { Category } from './failure.js';

/** The task that a node performs. */
export interface Activation {
  /** The run. */
  runId: string;
  /** The run at the top of the tree of runs; the run itself if it has no parent. */
  rootRunId: string;
  /** The run that started this one, if any. */
  parentRunId: string | null;
  /** The graph's id. */
  graphId: string;
  /** The node's name in the graph. */
  nodeId: string;
  /** The superstep, counted from 1. */
  superstep: number;
  /** The task's id: `namespace/step.ordinal`. */
  task: string;
  /** The attempt at this task, counted from 1. */
  attempt: number;
  /** How often this node has been entered in this run, counted from 1. */
  visit: number;
  /** The argument of the send, or the item of the `foreach`, that made this task, as JSON text. */
  argument: string | null;
  /** The answers to this task's questions so far, as JSON texts. */
  answers: string[];
  /** The same for every attempt at one task, and for no other task. */
  idempotencyKey: string;
}

/** @internal */
export interface WitCommand {
  update: string;
  goto: { node: string; argument: string | null }[];
}

/** @internal */
export type WitOutcome =
  | { tag: 'result'; val: string }
  | { tag: 'command'; val: WitCommand }
  | { tag: 'interrupt'; val: string };

/** @internal */
export interface WitFailure {
  category: Category;
  message: string;
  details: string | null;
}

/** @internal */
export interface WitDescription {
  summary: string;
  params: string;
  result: string;
  interfaces: { name: string; why: string }[];
}
