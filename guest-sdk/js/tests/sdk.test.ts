import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Command, Context, emit, Failure, log, node, parse, Question, stringify } from '../src/index.js';
import { now, sleep } from '../src/clocks.js';
import * as files from '../src/files.js';
import * as http from '../src/http.js';
import * as knowledge from '../src/knowledge.js';
import { randomBytes } from '../src/random.js';
import * as secrets from '../src/secrets.js';
import * as tools from '../src/tools.js';
import { decode, encode } from '../src/utf8.js';
// @ts-expect-error It has no types: nobody but this test needs it.
import { opened } from '../testing/disposable.mjs';
import { host, type Request } from '../testing/index.mjs';

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

beforeEach(() => host.reset());

test('time and random numbers cannot be read while modules are loaded', () => {
  // No node has been called yet: this test is the first.
  assert.throws(() => Date.now(), /while the module is loaded/);
  assert.throws(() => new Date(), /while the module is loaded/);
  assert.throws(() => Math.random(), /while the module is loaded/);
  assert.equal(new Date(0).getTime(), 0);
  called(() => null);
  host.clock = 1_700_000_000_000;
  assert.ok(new Date() instanceof Date);
  assert.deepEqual([Date.now(), new Date().getTime()], [host.clock, host.clock], 'it is the time of the doubles');
  assert.equal(Date(), new Date(host.clock).toString());
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
  for (const text of ['12', '-0', '9007199254740994', '100000000000000000000', '1e+21', '0.1']) {
    assert.equal(typeof parse(text), 'number', text);
  }
  for (const value of [
    Number.NaN,
    Infinity,
    undefined,
    { deep: [Number.NaN] },
    () => 1,
    { f: () => 1 },
    [undefined],
    [Symbol('x')],
    new Map([[1, 2]]),
    { bytes: new Uint8Array(1) },
    '\ud83d',
    { '\udc00': 1 },
  ]) {
    assert.throws(() => stringify(value), TypeError);
  }
  assert.throws(() => stringify({ a: [{ b: Infinity }] }), /the value\.a\[0\]\.b: JSON cannot hold Infinity/);
  assert.equal(stringify({ a: undefined, b: new Date(0) }), '{"b":"1970-01-01T00:00:00.000Z"}');
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
  const command = new Command().write('x', 1).goto('b').send('c', undefined);
  assert.deepEqual([command.update, command.targets], [{ x: 1 }, [{ node: 'b' }, { node: 'c', argument: undefined }]]);
  const asked = node({ summary: 'A test.', params: any, result: {}, run: (_, context) => context.ask('who?') as never });
  assert.throws(
    () => asked.perform({}, new Context()),
    (question: unknown) => question instanceof Question && question.value === 'who?',
  );
  assert.equal(asked.perform({}, new Context({ answers: ['"Ada"'] })), 'Ada');
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
  for (const wrong of [
    () => {
      throw new Failure('rate-limited', 'x', { after: Number.NaN });
    },
    () => {
      throw new Failure('rate_limited' as never, 'x');
    },
    () => {
      throw { n: 1n, f: () => 1 };
    },
    () => {
      throw 5n;
    },
  ]) {
    assert.equal(failing(wrong).category, 'internal');
  }
  assert.equal(failing(() => called((_, context) => context.ask(undefined))).category, 'internal');
  const half = failing(() => {
    throw new Failure('permanent', 'half \ud83d');
  });
  assert.deepEqual([half.category, half.message], ['permanent', 'half \ufffd']);
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
  const timed = node({ summary: 'A test.', params: any, result: {}, run: () => [Date.now(), new Date().getTime()] as never });
  assert.deepEqual(timed.perform({}, new Context()), [1_700_000_001_000, 1_700_000_001_000]);
  const first = randomBytes(16);
  assert.equal(first.length, 16);
  assert.notDeepEqual(randomBytes(16), first);
  host.seed = 1;
  assert.notDeepEqual(randomBytes(16), first);
  host.seed = 0;
  assert.deepEqual(randomBytes(16), first);
  host.reset();
  assert.deepEqual(randomBytes(16), first);
  const drawn = Array.from({ length: 1000 }, () => Math.random());
  assert.ok(drawn.every(number => number >= 0 && number < 1));
  assert.ok(new Set(drawn).size > 990);
});

test('UTF-8 both ways', () => {
  for (const text of ['', 'abc %41', 'äöü €', '😀 👩‍👩‍👧', '\u0000\u007f\u0080\u07ff\u0800\uffff', 'ä%'.repeat(5000)]) {
    assert.deepEqual(encode(text), new TextEncoder().encode(text));
    assert.equal(decode(encode(text)), text);
  }
  assert.deepEqual(encode('a\ud83d\udc00\udc00b\ud83d'), new TextEncoder().encode('a\ud83d\udc00\udc00b\ud83d'));
  for (const bytes of [[0x80], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xe2, 0x82]]) {
    assert.equal(decode(Uint8Array.from(bytes)), undefined);
  }
});

test('files are read, written, listed and removed', () => {
  files.createFolder('/a');
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
  files.createFolder('/empty');
  assert.deepEqual([files.stat('/empty').kind, files.list('/empty')], ['folder', []]);
  assert.match(failing(() => files.read('/empty')).message, /EISDIR/);
  assert.match(failing(() => files.createFolder('/empty')).message, /EEXIST/);
  files.remove('/a/b.txt');
  assert.equal(files.stat('/a').kind, 'folder', 'a folder stays when it is emptied');
  assert.match(failing(() => files.remove('/a')).message, /EISDIR/);
  assert.match(failing(() => files.createFolder('/no/ne')).message, /ENOENT/);
  assert.match(failing(() => files.write('/no/ne', '')).message, /ENOENT/);
  assert.match(failing(() => files.list('/no')).message, /ENOENT/);
  host.granted = ['/data', '/data/inner/'];
  assert.deepEqual(files.list('/data'), [{ name: 'inner', kind: 'folder' }]);
  files.write('/data/inner/x', '');
  assert.match(failing(() => files.read('/a/x')).message, /lies in no granted folder \(granted: \/data, \/data\/inner\/\)/);
  host.granted = ['/'];
  assert.equal(failing(() => files.stat('')).category, 'denied');
  const before = opened();
  files.list('/');
  sleep(1);
  assert.equal(opened(), before, 'what a call opens is closed');
  files.write('/bad', Uint8Array.of(0xff));
  assert.equal(failing(() => files.readText('/bad')).category, 'permanent');
});

test('knowledge and other items', () => {
  knowledge.put('notes/a', 'the first note');
  knowledge.put('notes/b', 'another');
  assert.equal(knowledge.get('notes/a'), 'the first note');
  assert.equal(knowledge.get('notes/c'), undefined);
  assert.deepEqual(knowledge.list('notes/', 'notes/a'), ['notes/b']);
  assert.deepEqual(knowledge.search('notes/', 'note first'), [{ key: 'notes/a', excerpt: 'the first note' }]);
  assert.deepEqual(knowledge.search('notes/', 'not'), [], 'a word is a whole one');
  host.items.set('acme/add', params => (params as number[]).reduce((sum, next) => sum + next, 0));
  assert.equal(tools.call<number>('acme/add', [1, 2]), 3);
  host.items.set('acme/echo', params => params);
  assert.equal(tools.call('acme/echo', 2n ** 63n), 2n ** 63n);
  host.items.set('acme/slow', () => {
    throw { category: 'rate-limited', message: 'later', details: { after: 3 } };
  });
  const slow = failing(() => tools.call('acme/slow', {}));
  assert.deepEqual([slow.category, slow.details], ['rate-limited', '{"after":3}']);
  const denied = failing(() => tools.call('acme/other', {}));
  assert.equal(denied.category, 'denied');
  assert.match(denied.message, /acme\/other/);
});

test('secrets have handles', () => {
  host.secrets.set('TOKEN', 'handle');
  assert.deepEqual([secrets.handle('TOKEN'), secrets.names()], ['handle', ['TOKEN']]);
  const denied = failing(() => secrets.handle('OTHER'));
  assert.deepEqual([denied.category, denied.message], ['denied', 'no secret `OTHER` is granted']);
});

test('requests', () => {
  const sent: Request[] = [];
  host.serve = request => {
    sent.push(request);
    return { status: 201, fields: [['Content-Type', 'text/plain'], ['x', Uint8Array.of(0xff)]], body: `gut ü${'x'.repeat(600_000)}` };
  };
  const before = opened();
  const answer = http.request('https://a.example/b?c=d#e', {
    method: 'POST',
    fields: { 'x-one': '1', 'x-bytes': Uint8Array.of(0xff) },
    body: 'x'.repeat(10_000),
  });
  assert.equal(opened(), before, 'what a request opens is closed');
  assert.deepEqual([answer.status, answer.text().slice(0, 5), answer.body.length], [201, 'gut ü', 600_006]);
  assert.deepEqual([answer.field('content-type'), answer.field('x'), answer.field('y')], ['text/plain', undefined, undefined]);
  assert.deepEqual([sent[0]?.method, sent[0]?.url, sent[0]?.body.length], ['POST', 'https://a.example/b?c=d', 10_000]);
  assert.deepEqual(sent[0]?.fields, [['x-one', Uint8Array.of(0x31)], ['x-bytes', Uint8Array.of(0xff)]]);
  http.request('http://b.example:81?q', { method: 'PURGE', fields: [['a', '1'], ['a', '2']] });
  assert.deepEqual([sent[1]?.method, sent[1]?.url, sent[1]?.fields.length], ['PURGE', 'http://b.example:81?q', 2]);
  host.serve = () => ({ status: 200, body: Uint8Array.of(0xff) });
  assert.equal(failing(() => http.get('https://a.example').text()).category, 'invalid-input');
  host.serve = () => {
    throw new Failure('timeout', 'the server did not answer in time');
  };
  assert.equal(failing(() => http.get('https://a.example')).category, 'timeout');
  host.serve = undefined;
  for (const [url, category, message] of [
    ['a.example', 'invalid-input', 'a.example: a URL begins with https://'],
    ['ftp://a.example', 'invalid-input', 'ftp://a.example: a URL begins with https:// or http://'],
    ['https:///x', 'invalid-input', 'https:///x: its host is none'],
    ['https://a.example', 'denied', 'https://a.example: the request is not granted'],
  ] as const) {
    const refused = failing(() => http.get(url));
    assert.deepEqual([refused.category, refused.message], [category, message]);
  }
  const fields = failing(() => http.request('https://a.example', { fields: { 'no name': '1' } }));
  assert.equal(fields.message, 'https://a.example: one of its fields may not be sent');
  assert.equal(opened(), before, 'what a failed request opens is closed');
});
