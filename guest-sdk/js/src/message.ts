/** Messages of a conversation with a language model, and between them and those of `graph-host:host/model`. */

import type * as wit from 'graph-host:host/model@0.1.0';
import { fromBase64, toBase64 } from './base64.js';
import { Failure } from './failure.js';
import { parse, stringify } from './json.js';

/** Who a message is from. Results of tools are the user's. */
export type Role = 'user' | 'assistant';

/** A call of a tool that a model asks for. */
export interface ToolCall {
  /** The provider's id of the call; the result names it. */
  id: string;
  /** The name of one of the request's tools. It is the model's text: a model can name a tool that does not exist. */
  name: string;
  /**
   * The arguments, an object. They need not fit the tool's schema. Where the model has not written an object, a string with what it has
   * written.
   */
  arguments: unknown;
}

/** The result of a tool call, in the message after it. */
export interface ToolResult {
  /** The id of the call. */
  id: string;
  /** What the tool has returned, as text for the model. */
  content: string;
  /** The tool has failed; `content` says why. */
  failed?: boolean;
}

/** An image or another file. */
export interface Media {
  /** Its type, as `image/png`. */
  media_type: string;
  /** Its bytes, as Base64 text. */
  data: string;
}

/** A part of a message: an object with one key, which says what it is. */
export type Block =
  /** Text, not empty. */
  | { text: string }
  /** What the model has thought, in the form of its provider; only from the assistant. It is sent back unchanged. */
  | { reasoning: unknown }
  /** A call of a tool; only from the assistant. */
  | { tool_call: ToolCall }
  /** A result of a tool; only from the user. */
  | { tool_result: ToolResult }
  /** A file; only from the user. */
  | { media: Media };

/** A message of a conversation. */
export interface Message {
  /** Who it is from. */
  role: Role;
  /** Its parts, in order. A model can answer with none. */
  blocks: Block[];
}

/** A message of the user with one text. */
export function user(text: string): Message {
  return { role: 'user', blocks: [{ text }] };
}

/** A message of the assistant with one text. */
export function assistant(text: string): Message {
  return { role: 'assistant', blocks: [{ text }] };
}

/** A message of the user with results of tools. */
export function results(results: Iterable<ToolResult>): Message {
  return { role: 'user', blocks: Array.from(results, tool_result => ({ tool_result })) };
}

/** The texts of a message, joined without a separator. */
export function textOf(message: Message): string {
  return message.blocks.map(block => ('text' in block ? block.text : '')).join('');
}

/** The calls of tools that a message asks for, in order. */
export function toolCalls(message: Message): ToolCall[] {
  return message.blocks.flatMap(block => ('tool_call' in block ? [block.tool_call] : []));
}

/** The results of tools that a message has, in order. */
export function toolResults(message: Message): ToolResult[] {
  return message.blocks.flatMap(block => ('tool_result' in block ? [block.tool_result] : []));
}

/** A file of bytes. */
export function file(mediaType: string, bytes: Uint8Array): Media {
  return { media_type: mediaType, data: toBase64(bytes) };
}

/** The bytes of a file; a failure of category `invalid-input` if its data is no Base64 text. */
export function bytesOf(media: Media): Uint8Array {
  const bytes = fromBase64(text(media.data, 'data'));
  if (bytes === undefined) {
    throw invalid(`the data of a file of type ${media.media_type} is no Base64 text`);
  }
  return bytes;
}

/** @internal */
export function messageToWit({ role, blocks }: Message): wit.Message {
  if (role !== 'user' && role !== 'assistant') {
    throw invalid(`${JSON.stringify(role)} is no role; they are: user, assistant`);
  }
  return { role, blocks: blocks.map(blockToWit) };
}

/** @internal */
export function messageFromWit({ role, blocks }: wit.Message): Message {
  return { role, blocks: blocks.map(blockFromWit) };
}

/** @internal A text that the host can take. */
export function text(value: unknown, what: string): string {
  if (typeof value !== 'string' || !value.isWellFormed()) {
    throw invalid(`${what}: ${typeof value === 'string' ? 'a text with half a character' : 'a text is needed'}`);
  }
  return value;
}

/** @internal */
export function invalid(message: string): Failure {
  return new Failure('invalid-input', message);
}

function blockToWit(block: Block): wit.Block {
  const kinds = Object.keys(block);
  if (kinds.length !== 1) {
    throw invalid(`a block has one key, and this one has ${kinds.join(', ') || 'none'}`);
  }
  if ('text' in block) {
    return { tag: 'text', val: text(block.text, 'text') };
  }
  if ('reasoning' in block) {
    return { tag: 'reasoning', val: stringify(block.reasoning) };
  }
  if ('tool_call' in block) {
    const { id, name, arguments: given } = block.tool_call;
    return { tag: 'tool-call', val: { id: text(id, 'id'), name: text(name, 'name'), arguments: stringify(given) } };
  }
  if ('tool_result' in block) {
    const { id, content, failed } = block.tool_result;
    return { tag: 'tool-result', val: { id: text(id, 'id'), content: text(content, 'content'), failed: failed === true } };
  }
  if ('media' in block) {
    const mediaType = text(block.media.media_type, 'media_type');
    return { tag: 'media', val: { mediaType, data: bytesOf(block.media) } };
  }
  throw invalid(`\`${kinds[0]}\` is no block; they are: text, reasoning, tool_call, tool_result, media`);
}

function blockFromWit(block: wit.Block): Block {
  switch (block.tag) {
    case 'text':
      return { text: block.val };
    case 'reasoning':
      return { reasoning: parse(block.val) };
    case 'tool-call':
      return { tool_call: { id: block.val.id, name: block.val.name, arguments: parse(block.val.arguments) } };
    case 'tool-result': {
      const { id, content, failed } = block.val;
      return { tool_result: failed ? { id, content, failed } : { id, content } };
    }
    case 'media':
      return { media: { media_type: block.val.mediaType, data: toBase64(block.val.data) } };
  }
}
