/**
 * Write a node of a graph in TypeScript or JavaScript: the schemas of its params and its result, and a function.
 *
 * ```ts
 * import { node } from '@graph-host/sdk';
 *
 * export const action = node({
 *   summary: 'Greets someone.',
 *   params: {
 *     type: 'object',
 *     properties: { name: { type: 'string', description: 'Whom to greet.' } },
 *     required: ['name'],
 *     additionalProperties: false,
 *   },
 *   result: { type: 'string' },
 *   run: ({ name }) => `Hello, ${name}!`,
 * });
 * ```
 */
/// <reference path="./imports.d.ts" />
import './globals.js';

export { Command } from './command.js';
export { Context, Question } from './context.js';
export { type Category, Failure } from './failure.js';
export { parse, stringify } from './json.js';
export { emit, type Level, log } from './host.js';
export { type Action, type Definition, node, type ValueOf } from './node.js';
export type { Activation } from './wit.js';
