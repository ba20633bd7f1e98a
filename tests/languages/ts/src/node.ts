// What every SDK offers, one operation at a time.

import { Command, type Context, emit, Failure, log, node } from '@graph-host/sdk';
import { now, sleep } from '@graph-host/sdk/clocks';
import * as files from '@graph-host/sdk/files';
import * as http from '@graph-host/sdk/http';
import * as knowledge from '@graph-host/sdk/knowledge';
import { randomBytes } from '@graph-host/sdk/random';
import * as secrets from '@graph-host/sdk/secrets';
import * as tools from '@graph-host/sdk/tools';

function perform(op: string, value: any, context: Context): unknown {
  switch (op) {
    case 'echo':
      return value;
    case 'activation': {
      const { runId: _, rootRunId: __, idempotencyKey, ...rest } = context.activation;
      return [rest.graphId, rest.nodeId, rest.superstep, rest.attempt, rest.visit, idempotencyKey.length > 0];
    }
    case 'argument':
      return context.argument() ?? null;
    case 'log':
      log('info', `value ${value}`);
      emit('seen', { value });
      return null;
    case 'clock': {
      const before = now().getTime();
      sleep(1500);
      return [now().getTime() - before, before > Date.UTC(2026), Date.now() - before];
    }
    case 'random':
      return [...randomBytes(value)];
    case 'files':
      files.write('/data/note.txt', value);
      return [files.readText('/data/note.txt'), files.stat('/data/note.txt'), files.list('/data')];
    case 'knowledge':
      knowledge.put('notes/one', value);
      return [
        knowledge.get('notes/one') ?? null,
        knowledge.get('notes/two') ?? null,
        knowledge.list('notes/'),
        knowledge.search('notes/', value).map(hit => hit.key),
      ];
    case 'request': {
      const response = http.request(value, {
        method: 'POST',
        fields: { authorization: `Bearer ${secrets.handle('TOKEN')}`, 'x-note': 'ä' },
        body: 'ü'.repeat(5000),
      });
      return [response.status, response.field('x-seen') ?? null, response.field('x-none') ?? null, response.text()];
    }
    case 'get': {
      const response = http.get(value);
      return [response.status, response.text()];
    }
    case 'secrets':
      return [secrets.names(), secrets.handle(value)];
    case 'tool':
      return tools.call('me/node', { op: 'echo', value });
    case 'fail':
      throw new Failure(value, `a failure of category ${value}`, { value });
    case 'missing':
      return files.readText('/data/missing.txt');
    case 'outside':
      return files.readText('/elsewhere/x.txt');
    case 'forbidden':
      return tools.call('me/other', {});
    default:
      throw new Failure('invalid-input', `unknown operation ${op}`);
  }
}

export const action = node({
  summary: 'Performs one operation of an SDK.',
  params: {
    type: 'object',
    properties: { op: { type: 'string' }, value: {} },
    required: ['op'],
    additionalProperties: false,
  },
  result: {},
  wants: {
    'wasi:clocks/wall-clock': 'reads the time',
    'wasi:random/random': 'draws numbers',
    'wasi:filesystem/types': 'reads and writes notes',
    'wasi:http/outgoing-handler': 'asks a server',
    'graph-host:host/secrets': 'says who asks',
    'graph-host:host/knowledge': 'keeps notes',
    'graph-host:host/tools': 'calls itself',
  },
  run({ op, value }, context) {
    if (op === 'ask') {
      const first = context.ask<string>({ question: 'Which one?' });
      return { first, second: context.ask({ question: `Why ${first}?` }) };
    }
    if (op === 'command') {
      return new Command().write('written', value).goto('after').send('sent', { n: 1 });
    }
    return perform(op, value, context) as never;
  },
});
