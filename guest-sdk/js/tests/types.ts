// Checked by `npm run check`: the types of `run` follow from the schemas.
import { node } from '../src/index.js';

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
