// The conversation of `../guest`, in TypeScript.

import { Failure, node } from '@graph-host/sdk';
import * as model from '@graph-host/sdk/model';
import type { Block, Message, Request } from '@graph-host/sdk/model';

interface Turn {
  name: string;
  user: Block[];
  request?: Partial<Request>;
}

function converse(name: string, system: string, tools: model.Tool[], turns: Turn[]): unknown {
  const history: Message[] = [];
  const transcript: unknown[] = [];
  for (const turn of turns) {
    history.push({ role: 'user', blocks: turn.user });
    try {
      const { message, stop, usage } = model.complete({ model: name, system, tools, messages: history, ...turn.request });
      const blocks = message.blocks.filter(block => !('reasoning' in block));
      transcript.push({ turn: turn.name, blocks, stop, usage });
      history.push(message);
    } catch (thrown) {
      if (!(thrown instanceof Failure)) {
        throw thrown;
      }
      history.pop();
      const { category, message, details = null } = thrown;
      transcript.push({ turn: turn.name, failed: { category, message, details } });
    }
  }
  return { transcript };
}

export const action = node({
  summary: 'Asks language models.',
  params: {
    type: 'object',
    properties: { op: { type: 'string' }, model: { type: 'string' }, system: { type: 'string' }, tools: { type: 'array' }, turns: { type: 'array' } },
    required: ['op', 'model'],
    additionalProperties: false,
  },
  result: {},
  wants: { 'graph-host:host/model': 'asks them' },
  run({ op, model: name, system = '', tools = [], turns = [] }) {
    if (op === 'left') {
      return { models: model.models(), left: model.remaining() } as never;
    }
    return converse(name, system, tools as never, turns as never) as never;
  },
});
