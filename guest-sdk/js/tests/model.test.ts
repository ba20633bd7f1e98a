import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { fromBase64, toBase64 } from '../src/base64.js';
import { Failure } from '../src/index.js';
import * as model from '../src/model.js';
import type { Message, Request, Response } from '../src/model.js';
import { answer, calling, host } from '../testing/index.mjs';

/** Every kind of block, as the host keeps and shows it. */
const conversation: Message[] = [
  { role: 'user', blocks: [{ text: 'Look' }, { media: { media_type: 'image/png', data: 'AP8QAQ==' } }] },
  {
    role: 'assistant',
    blocks: [
      { reasoning: { api: 'x', item: [1] } },
      { text: 'I ' },
      { tool_call: { id: 'a', name: 'search', arguments: { q: 2n ** 63n } } },
      { text: 'look' },
      { tool_call: { id: 'b', name: 'search', arguments: {} } },
    ],
  },
  {
    role: 'user',
    blocks: [{ tool_result: { id: 'a', content: 'none' } }, { tool_result: { id: 'b', content: 'none', failed: true } }],
  },
];

const user = model.user('x');

function failing(request: unknown): Failure {
  try {
    model.complete(request as Request);
  } catch (thrown) {
    assert.ok(thrown instanceof Failure, String(thrown));
    return thrown;
  }
  return assert.fail('it did not fail');
}

beforeEach(() => host.reset());

test('Base64 both ways', () => {
  for (let length = 0; length < 70; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 89 + length * 7) & 255);
    assert.equal(toBase64(bytes), Buffer.from(bytes).toString('base64'));
    assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
  }
  for (const text of ['A', 'AA', 'AAA', 'AB==', 'AAB=', 'A===', '====', 'AA=A', 'A-==', 'AAAA\n', 'ä===']) {
    assert.equal(fromBase64(text), undefined, text);
  }
});

test('parts of a message', () => {
  const [said, answered, results] = conversation as [Message, Message, Message];
  assert.equal(model.textOf(answered), 'I look');
  assert.deepEqual(model.toolCalls(answered).map(({ id }) => id), ['a', 'b']);
  assert.deepEqual(model.results(model.toolResults(results)), results);
  assert.deepEqual([model.user('a'), model.assistant('b')], [
    { role: 'user', blocks: [{ text: 'a' }] },
    { role: 'assistant', blocks: [{ text: 'b' }] },
  ]);
  assert.deepEqual(said.blocks[1], { media: model.file('image/png', Uint8Array.of(0, 255, 16, 1)) });
  assert.deepEqual(model.bytesOf({ media_type: 'image/png', data: 'AP8QAQ==' }), Uint8Array.of(0, 255, 16, 1));
  assert.throws(() => model.bytesOf({ media_type: 'image/png', data: '?' }), /no Base64 text/);
});

test('a request reaches the host unchanged', () => {
  const usage = { input: 7, output: 5, cached: 3, reasoning: 2, cost: 11 };
  const first: Response = { message: conversation[1]!, stop: 'tool_calls', usage };
  host.models.set('fast', [first, new Failure('timeout', 'late', [1])]).set('good', []);
  host.modelBudget = { calls: 2, input: 10, output: 3 };
  const request: Request = {
    model: 'fast',
    system: 'Be brief.',
    messages: conversation,
    tools: [{ name: 'search', description: 'Searches.', parameters: { type: 'object' } }],
    tool_choice: { named: 'search' },
    output_schema: { type: 'string' },
    max_output: 9,
    temperature: 0.5,
    stop: ['END'],
  };
  assert.deepEqual(model.complete(request), first);
  assert.deepEqual(host.modelRequests, [request]);
  assert.deepEqual(model.models(), ['fast', 'good']);
  assert.deepEqual(model.remaining(), { calls: 1, input: 3, output: 0 });
  const { category, message, details } = failing(request);
  assert.deepEqual([category, message, details], ['timeout', 'late', [1]]);
  assert.equal(failing(request).category, 'limit');
  assert.equal(host.modelRequests.length, 2);
});

test('answers of a test', () => {
  host.models.set('fast', [calling(['now', {}], ['sum', [1]]), answer('Hello', { stop: 'max_output', usage: { input: 2 } })]);
  const asked = model.complete({ model: 'fast', messages: [user] });
  assert.equal(asked.stop, 'tool_calls');
  assert.deepEqual(model.toolCalls(asked.message), [
    { id: 'call-1', name: 'now', arguments: {} },
    { id: 'call-2', name: 'sum', arguments: [1] },
  ]);
  const results = model.results(['call-1', 'call-2'].map(id => ({ id, content: '' })));
  const said = model.complete({ model: 'fast', messages: [user, asked.message, results] });
  assert.deepEqual(said, {
    message: model.assistant('Hello'),
    stop: 'max_output',
    usage: { input: 2, output: 0, cached: 0, reasoning: 0, cost: 0 },
  });
  assert.deepEqual(host.modelRequests[0], { model: 'fast', messages: [user] }, 'nothing is added to it');
  for (const choice of ['none', 'required'] as const) {
    host.models.get('fast')!.push(answer('x'));
    model.complete({ model: 'fast', messages: [user], tool_choice: choice });
    assert.equal(host.modelRequests.at(-1)!.tool_choice, choice);
  }
});

test('what the host refuses a test refuses', () => {
  host.models.set('fast', []);
  const call = calling(['search', {}]).message;
  const result = (id: string) => model.results([{ id, content: 'x' }]);
  const tool = (name: string) => ({ name, parameters: {} });
  for (const [request, told] of [
    [{ messages: [] }, "the last message must be the user's"],
    [{ messages: [model.assistant('x')] }, "the last message must be the user's"],
    [{ messages: [user, model.results([])] }, 'must not be empty'],
    [{ messages: [model.user('')] }, 'a text must not be empty'],
    [{ messages: [call, user] }, 'must have one result'],
    [{ messages: [call, result('call-2')] }, 'must have one result'],
    [{ messages: [user, result('call-1')] }, 'must have one result'],
    [{ messages: [user], tools: [tool('a b')] }, 'tools: `a b`'],
    [{ messages: [user], tools: [tool('a'), tool('a')] }, 'used twice'],
    [{ messages: [user], tools: [{ name: 'a', parameters: [] }] }, 'must be an object'],
    [{ messages: [user], temperature: 2.5 }, 'temperature'],
    [{ messages: [user], temperature: 'hot' }, 'temperature'],
    [{ messages: [user], stop: [...'abcde'] }, 'stop'],
    [{ messages: [{ role: 'user', blocks: call.blocks }] }, 'wrong role'],
    [{ messages: [{ role: 'system', blocks: [] }] }, 'is no role'],
    [{ messages: [user], max_output: -1 }, 'no number of tokens'],
    [{ messages: [user], max_output: 0.5 }, 'no number of tokens'],
    [{ messages: [user], tool_choice: 'any' }, 'tool_choice'],
    [{ messages: [{ role: 'user', blocks: [{ image: 'x' }] }] }, '`image` is no block'],
    [{ messages: [{ role: 'user', blocks: [{ text: 'x', media: {} }] }] }, 'one key'],
    [{ messages: [{ role: 'user', blocks: [{ text: 1 }] }] }, 'a text is needed'],
    [{ messages: [model.user('\ud800')] }, 'half a character'],
  ] as const) {
    const { category, message } = failing({ model: 'fast', ...request });
    assert.equal(category, 'invalid-input', message);
    assert.ok(message.includes(told), message);
  }
  assert.equal(failing({ model: 'good', messages: [user] }).category, 'denied');
  assert.deepEqual(host.modelRequests, []);
  assert.match(failing({ model: 'fast', messages: [user] }).message, /no further answer/);
});
