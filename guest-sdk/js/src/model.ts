/**
 * Answers of language models that the manifest names. Needs `graph-host:host/model` in `wants`.
 *
 * ```ts
 * import * as model from '@graph-host/sdk/model';
 *
 * function title(text: string): string {
 *   const answer = model.complete({
 *     model: 'fast',
 *     system: 'Answer with a title of at most six words.',
 *     messages: [model.user(text)],
 *     max_output: 50,
 *   });
 *   return model.textOf(answer.message);
 * }
 * ```
 *
 * A conversation is a list of `Message`s. They are JSON, the same in every language, so that a graph keeps them in a channel:
 * `{"role": "user", "blocks": [{"text": "…"}]}`.
 */
import * as host from 'graph-host:host/model@0.1.0';
import { given, translated } from './failure.js';
import { stringify } from './json.js';
import { invalid, type Message, messageFromWit, messageToWit, text } from './message.js';

export { assistant, type Block, bytesOf, file, type Media, type Message, results, type Role, textOf } from './message.js';
export { type ToolCall, toolCalls, type ToolResult, toolResults, user } from './message.js';

/** A tool that the model may ask for. */
export interface Tool {
  /** Its name: letters, digits, `_` and `-`, at most 64 bytes. */
  name: string;
  /** What it is for. */
  description?: string;
  /** The JSON Schema of its arguments, an object. */
  parameters: unknown;
}

/** Which tools the model may ask for: any or none, none, at least one, or the named one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { named: string };

/** A request of a completion. The host refuses one that breaks a rule of `graph-host:host/model`. */
export interface Request {
  /** The name of the model in the manifest. */
  model: string;
  /** Instructions that precede the conversation. */
  system?: string;
  /** The conversation; the last message is the user's. */
  messages: Message[];
  /** The tools that the model may ask for. */
  tools?: Tool[];
  /** Which of them, `auto` unless it says so; without meaning if there are none. */
  tool_choice?: ToolChoice;
  /** The JSON Schema that the answer's text has to fit; without one, free text. */
  output_schema?: unknown;
  /** The most tokens of an answer; the manifest's bound of the model holds, too. */
  max_output?: number;
  /** The temperature, from 0 to 2; without one, the provider's default. */
  temperature?: number;
  /** Texts at which the model stops, at most four. */
  stop?: string[];
}

/**
 * Why an answer ends: the model has finished, asks for tools, has reached the most tokens or one of the texts of `stop`, or does not answer.
 */
export type StopReason = 'end' | 'tool_calls' | 'max_output' | 'stop_text' | 'refused';

/** What a call has used. A figure that a number cannot hold exactly is a `bigint`, though its type says `number`. */
export interface Usage {
  /** Tokens of the request, those from a cache included. */
  input: number;
  /** Tokens of the answer, those of its reasoning included. */
  output: number;
  /** Tokens of the request that the provider has read from a cache. */
  cached: number;
  /** Tokens of the answer that are reasoning. */
  reasoning: number;
  /** The cost by the manifest's prices, in millionths of its currency. */
  cost: number;
}

/** An answer. */
export interface Response {
  /** The assistant's message. */
  message: Message;
  /** Why it ends. */
  stop: StopReason;
  /** What it has used. */
  usage: Usage;
}

/** What is left of a task's budget. A figure that is not there has no limit. */
export interface Budget {
  /** Calls. */
  calls?: number;
  /** Tokens of requests. */
  input?: number;
  /** Tokens of answers. */
  output?: number;
  /** Millionths of the manifest's currency. */
  cost?: number;
}

/**
 * Asks a model, and gives its whole answer. Each call costs what the manifest says and draws on its budget.
 *
 * Failures: `denied` for a model that is not granted, `invalid-input` for a request that breaks a rule or that the provider rejects, `limit`
 * if the budget does not suffice, `rate-limited`, `timeout` and `transient` for what may work later, `permanent` for the rest.
 */
export function complete(request: Request): Response {
  const asked = requestToWit(request);
  const { message, stop, usage } = translated(() => host.complete(asked), given);
  const { input, output, cached, reasoning, cost } = usage;
  return {
    message: messageFromWit(message),
    stop: stop.replace('-', '_') as StopReason,
    usage: { input: exact(input), output: exact(output), cached: exact(cached), reasoning: exact(reasoning), cost: exact(cost) },
  };
}

/** The names of the models that the node may ask, in the manifest's order. */
export function models(): string[] {
  return host.models();
}

/** What is left of the task's budget. */
export function remaining(): Budget {
  const { calls, input, output, cost } = host.remaining();
  return { ...left('calls', calls), ...left('input', input), ...left('output', output), ...left('cost', cost) };
}

function left(name: keyof Budget, figure: number | bigint | null): Budget {
  return figure == null ? {} : { [name]: exact(figure) };
}

/** An integer as JSON has it: a `bigint` only where a number cannot hold it. */
function exact(figure: number | bigint): number {
  const number = Number(figure);
  return Number.isSafeInteger(number) ? number : (figure as number);
}

function requestToWit(of: Request): host.Request {
  return {
    model: text(of.model, 'model'),
    system: of.system == null ? null : text(of.system, 'system'),
    messages: of.messages.map(messageToWit),
    tools: (of.tools ?? []).map(({ name, description = '', parameters }) => ({
      name: text(name, 'name'),
      description: text(description, 'description'),
      parameters: stringify(parameters),
    })),
    toolChoice: choiceToWit(of.tool_choice ?? 'auto'),
    outputSchema: of.output_schema == null ? null : stringify(of.output_schema),
    maxOutput: tokens(of.max_output),
    temperature: temperature(of.temperature),
    stop: (of.stop ?? []).map(one => text(one, 'stop')),
  };
}

function choiceToWit(choice: ToolChoice): host.ToolChoice {
  if (typeof choice === 'object' && typeof choice.named === 'string') {
    return { tag: 'named', val: text(choice.named, 'tool_choice') };
  }
  if (choice !== 'auto' && choice !== 'none' && choice !== 'required') {
    throw invalid(`tool_choice: ${stringify(choice)} is none of "auto", "none", "required" and {"named": NAME}`);
  }
  return { tag: choice };
}

function tokens(most: number | undefined): number | null {
  if (most != null && !(Number.isSafeInteger(most) && most >= 0)) {
    throw invalid(`max_output: ${String(most)} is no number of tokens`);
  }
  return most ?? null;
}

function temperature(given: number | undefined): number | null {
  if (given != null && typeof given !== 'number') {
    throw invalid('temperature: a number is needed');
  }
  return given ?? null;
}
