/** Language models of a test: answers in the order in which the test gives them, for requests that a host would take. */
import { parse, stringify } from '../src/json.ts';
import { messageFromWit, messageToWit, toolCalls, toolResults } from '../src/message.ts';
import { host } from './state.mjs';

export function complete(asked) {
  const request = requestOf(asked);
  const answers = host.models.get(request.model);
  if (answers === undefined) {
    fail('denied', `the model \`${request.model}\` is not granted`);
  }
  check(request);
  if (host.modelBudget.calls === 0) {
    fail('limit', 'no call of a model is left');
  }
  spend('calls', 1);
  host.modelRequests.push(request);
  const answer = answers.shift();
  if (answer === undefined) {
    fail('internal', `the test has no further answer of the model \`${request.model}\``);
  }
  if (typeof answer.category === 'string') {
    fail(answer.category, answer.message, answer.details);
  }
  const { message, stop, usage } = answer;
  for (const figure of ['input', 'output', 'cost']) {
    spend(figure, usage[figure]);
  }
  return { message: messageToWit(message), stop: stop.replace('_', '-'), usage };
}

export function models() {
  return [...host.models.keys()];
}

export function remaining() {
  const { calls = null, input = null, output = null, cost = null } = host.modelBudget;
  return { calls, input, output, cost };
}

function fail(category, message, details) {
  throw { category, message, details: details == null ? null : stringify(details) };
}

function spend(figure, used) {
  if (host.modelBudget[figure] !== undefined) {
    host.modelBudget = { ...host.modelBudget, [figure]: Math.max(0, host.modelBudget[figure] - used) };
  }
}

/** The request as the node has written it: without what says nothing. */
function requestOf(asked) {
  const { model, system, messages, tools, toolChoice, outputSchema, maxOutput, temperature, stop } = asked;
  return {
    model,
    ...(system !== null && { system }),
    messages: messages.map(messageFromWit),
    ...(tools.length > 0 && { tools: tools.map(toolOf) }),
    ...(toolChoice.tag !== 'auto' && { tool_choice: toolChoice.tag === 'named' ? { named: toolChoice.val } : toolChoice.tag }),
    ...(outputSchema !== null && { output_schema: parse(outputSchema) }),
    ...(maxOutput !== null && { max_output: maxOutput }),
    ...(temperature !== null && { temperature }),
    ...(stop.length > 0 && { stop }),
  };
}

function toolOf({ name, description, parameters }) {
  return { name, ...(description !== '' && { description }), parameters: parse(parameters) };
}

function check({ messages, tools = [], stop = [], temperature = 0 }) {
  if (messages.at(-1)?.role !== 'user') {
    refuse('messages', "the last message must be the user's");
  }
  messages.forEach((message, index) => {
    checkBlocks(`messages[${index}]`, message);
    const called = new Set(index === 0 ? [] : toolCalls(messages[index - 1]).map(({ id }) => id));
    const answered = toolResults(message).map(({ id }) => id);
    if (called.size !== answered.length || new Set(answered).size !== answered.length || answered.some(id => !called.has(id))) {
      refuse(`messages[${index}]`, 'each call of the message before must have one result');
    }
  });
  for (const { name, parameters } of tools) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
      refuse(`tools: \`${name}\``, 'a name has 1 to 64 letters, digits, `_` and `-`');
    }
    if (tools.filter(other => other.name === name).length > 1) {
      refuse(`tools: \`${name}\``, 'the name is used twice');
    }
    if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters)) {
      refuse(`tools: \`${name}\``, 'the parameters must be an object');
    }
  }
  if (stop.length > 4) {
    refuse('stop', 'at most 4 texts are allowed');
  }
  if (!(temperature >= 0 && temperature <= 2)) {
    refuse('temperature', 'must be from 0 to 2');
  }
}

const ROLES = { reasoning: 'assistant', tool_call: 'assistant', tool_result: 'user', media: 'user' };

function checkBlocks(path, { role, blocks }) {
  if (role === 'user' && blocks.length === 0) {
    refuse(path, 'a message of the user must not be empty');
  }
  for (const block of blocks) {
    const [kind] = Object.keys(block);
    if (block.text === '') {
      refuse(path, 'a text must not be empty');
    }
    if ((ROLES[kind] ?? role) !== role) {
      refuse(path, 'a block is in a message of the wrong role');
    }
  }
}

function refuse(path, rule) {
  fail('invalid-input', `${path}: ${rule}`);
}
