// Checked by `npm run check`: the types of `run` follow from the schemas, and a block of a message is of one kind.
import { node } from '../src/index.js';
import type { Block, Request } from '../src/model.js';

const params = {
  type: 'object',
  properties: { name: { type: 'string' }, n: { type: 'integer' } },
  required: ['name'],
  additionalProperties: false,
} as const;

export const right = node({
  summary: 'Greets.',
  params,
  result: { type: 'string' },
  run: ({ name, n }) => `${name.toUpperCase()} ${(n ?? 0) + 1}`,
});

export const noSuchParameter = node({
  summary: 'Greets.',
  params,
  result: { type: 'string' },
  // @ts-expect-error: the schema has no property `nam`
  run: ({ nam }) => nam,
});

export const noText = node({
  summary: 'Counts.',
  params,
  result: { type: 'string' },
  // @ts-expect-error: a number is not what the schema of the result describes
  run: () => 5,
});

export function shown(block: Block): string {
  if ('tool_call' in block) {
    return block.tool_call.name;
  }
  return 'media' in block ? block.media.data : 'text' in block ? block.text : '';
}

// @ts-expect-error: there is no such kind of block
export const noSuchBlock: Block = { image: 'x' };

// @ts-expect-error: a request names its model
export const noModel: Request = { messages: [] };
