import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Command, Context, emit, Failure, log, node, parse, stringify } from '../src/index.js';
import { now, sleep } from '../src/clocks.js';
import * as files from '../src/files.js';
import * as http from '../src/http.js';
import * as knowledge from '../src/knowledge.js';
import { randomBytes } from '../src/random.js';
import * as secrets from '../src/secrets.js';
import * as tools from '../src/tools.js';
import { decode, encode } from '../src/utf8.js';
import { host } from '../testing/index.mjs';

const activation = new Context().activation;
const any = { type: 'object' } as const;

/** A node that does this, called as a host calls it. */
function called(run: (params: any, context: Context) => unknown, more = {}, params = {}) {
  const action = node({ summary: 'A test.', params: any, result: {}, run: run as never });
  return action.run({ ...activation, ...more }, stringify(params));
}

function failing(run: () => unknown) {
  try {
    called(run);
  } catch (thrown) {
    return thrown as { category: string; message: string; details: string | null };
  }
  return assert.fail('it did not fail');
}

beforeEach(() => {
  host.files.clear();
  host.knowledge.clear();
  host.items.clear();
  host.secrets.clear();
  host.serve = undefined;
  host.lines.length = host.records.length = 0;
});

test('time and random numbers cannot be read while modules are loaded', () => {
  // No node has been called yet: this test is the first.
  assert.throws(() => Date.now(), /while the module is loaded/);
  assert.throws(() => new Date(), /while the module is loaded/);
  assert.throws(() => Math.random(), /while the module is loaded/);
  assert.equal(new Date(0).getTime(), 0);
  called(() => null);
  assert.ok(new Date() instanceof Date);
  assert.ok(Date.now() > 0);
});

test('a description holds schemas and wants', () => {
  const described = node({
    summary: 'Counts.',
    params: { type: 'object', properties: { n: { type: 'integer' } } },
    result: { type: 'integer' },
    wants: { 'wasi:filesystem/types': 'reads' },
    run: ({ n }) => n ?? 0,
  }).describe();
  assert.equal(described.summary, 'Counts.');
  assert.deepEqual(JSON.parse(described.params), { type: 'object', properties: { n: { type: 'integer' } } });
  assert.deepEqual(described.interfaces, [{ name: 'wasi:filesystem/types', why: 'reads' }]);
});

test('integers of 64 bits stay exact', () => {
  for (const text of ['9007199254740993', '-9223372036854775808', '18446744073709551615', '[1,2.5,"x",null,true]']) {
    assert.equal(stringify(parse(text)), text);
  }
  assert.equal(typeof parse('12'), 'number');
  for (const value of [Number.NaN, Infinity, undefined, { deep: [Number.NaN] }, () => 1]) {
    assert.throws(() => stringify(value), TypeError);
  }
});

test('a result, a command, a question and its answer', () => {
  assert.deepEqual(called(({ a }) => [a], {}, { a: 1 }), { tag: 'result', val: '[1]' });
  assert.deepEqual(called(() => new Command().write('x', 1n).goto('b').send('c', { d: 2 })), {
    tag: 'command',
    val: {
      update: '{"x":1}',
      goto: [
        { node: 'b', argument: null },
        { node: 'c', argument: '{"d":2}' },
      ],
    },
  });
  const asking = (_: unknown, context: Context) => [context.ask('first'), context.ask({ second: true })];
  assert.deepEqual(called(asking), { tag: 'interrupt', val: '"first"' });
  assert.deepEqual(called(asking, { answers: ['1'] }), { tag: 'interrupt', val: '{"second":true}' });
  assert.deepEqual(called(asking, { answers: ['1', '"yes"'] }), { tag: 'result', val: '[1,"yes"]' });
  assert.deepEqual(called((_, context) => context.argument() ?? null), { tag: 'result', val: 'null' });
  assert.deepEqual(called((_, context) => context.argument(), { argument: '{"i":3}' }), { tag: 'result', val: '{"i":3}' });
});

test('failures have categories, and what else is thrown is internal', () => {
  const details = { retry: 3n };
  assert.deepEqual(
    failing(() => {
      throw new Failure('rate-limited', 'slow down', details);
    }),
    { category: 'rate-limited', message: 'slow down', details: '{"retry":3}' },
  );
  assert.deepEqual(
    failing(() => {
      throw new TypeError('no');
    }),
    { category: 'internal', message: 'TypeError: no', details: null },
  );
  assert.equal(failing(() => Promise.resolve(1)).category, 'internal');
  assert.equal(failing(() => undefined).category, 'internal');
});

test('log lines and events', () => {
  log('warn', 'careful');
  emit('progress', { at: 1 });
  assert.deepEqual(host.lines, [{ level: 'warn', message: 'careful' }]);
  assert.deepEqual(host.records, [{ name: 'progress', payload: { at: 1 } }]);
});

test('the clock is virtual, and random numbers are bytes of the host', () => {
  host.clock = 1_700_000_000_250;
  assert.equal(now().getTime(), 1_700_000_000_250);
  sleep(750);
  assert.equal(now().getTime(), 1_700_000_001_000);
  assert.equal(randomBytes(16).length, 16);
  const drawn = Array.from({ length: 1000 }, () => Math.random());
  assert.ok(drawn.every(number => number >= 0 && number < 1));
  assert.ok(new Set(drawn).size > 990);
});

test('UTF-8 both ways', () => {
  for (const text of ['', 'abc %41', 'äöü €', '😀 👩‍👩‍👧', '\u0000\u007f\u0080\uffff']) {
    assert.deepEqual(encode(text), new TextEncoder().encode(text));
    assert.equal(decode(encode(text)), text);
  }
  for (const bytes of [[0x80], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xe2, 0x82]]) {
    assert.equal(decode(Uint8Array.from(bytes)), undefined);
  }
});

test('files are read, written, listed and removed', () => {
  files.write('/a/b.txt', 'häuser');
  assert.equal(files.readText('/a/b.txt'), 'häuser');
  const large = Uint8Array.from({ length: 600_000 }, (_, at) => at % 251);
  files.write('/large', large);
  assert.deepEqual(files.read('/large'), large);
  assert.deepEqual(files.list('/'), [
    { name: 'a', kind: 'folder' },
    { name: 'large', kind: 'file' },
  ]);
  assert.deepEqual(files.stat('/large'), { kind: 'file', size: 600_000 });
  files.remove('/large');
  assert.equal(failing(() => files.read('/large')).category, 'invalid-input');
  assert.equal(failing(() => files.read('elsewhere')).category, 'denied');
  files.write('/bad', Uint8Array.of(0xff));
  assert.equal(failing(() => files.readText('/bad')).category, 'permanent');
});

test('requests, with secrets that are never seen', () => {
  host.secrets.set('TOKEN', 'handle-1');
  host.serve = request => {
    assert.equal(request.method, 'POST');
    assert.equal(request.url, 'https://api.acme.com/v1?q=1');
    assert.deepEqual(request.fields, [['authorization', encode('Bearer handle-1')]]);
    return { status: 201, fields: [['x-id', encode('7')]], body: request.body };
  };
  const body = 'x'.repeat(10_000);
  const response = http.request('https://api.acme.com/v1?q=1#fragment', {
    method: 'POST',
    fields: { authorization: `Bearer ${secrets.handle('TOKEN')}` },
    body,
  });
  assert.equal(response.status, 201);
  assert.equal(response.text(), body);
  assert.equal(response.field('x-id'), '7');
  assert.equal(response.field('y'), undefined);
  host.serve = undefined;
  assert.equal(failing(() => http.get('https://api.acme.com/')).category, 'denied');
  assert.equal(failing(() => http.get('ftp://api.acme.com/')).category, 'invalid-input');
  assert.equal(failing(() => secrets.handle('OTHER')).category, 'denied');
  assert.deepEqual(secrets.names(), ['TOKEN']);
});

test('knowledge and other items', () => {
  knowledge.put('notes/a', 'the first note');
  knowledge.put('notes/b', 'another');
  assert.equal(knowledge.get('notes/a'), 'the first note');
  assert.equal(knowledge.get('notes/c'), undefined);
  assert.deepEqual(knowledge.list('notes/', 'notes/a'), ['notes/b']);
  assert.deepEqual(knowledge.search('notes/', 'note first'), [{ key: 'notes/a', excerpt: 'the first note' }]);
  host.items.set('acme/add', params => (params as number[]).reduce((sum, next) => sum + next, 0));
  assert.equal(tools.call<number>('acme/add', [1, 2]), 3);
  const denied = failing(() => tools.call('acme/other', {}));
  assert.equal(denied.category, 'denied');
  assert.match(denied.message, /acme\/other/);
});
