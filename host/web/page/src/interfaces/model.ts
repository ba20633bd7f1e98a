// `graph-host:host/model`: completions of the granted models, within the component's budget. As `host/engine/src/host/model`; the walker makes
// all decisions.

import { Fault, type Category, type Failure } from "../fault";
import { asKept, keptBytes, type Answer, type Journal } from "../journal";
import { canonical, members, plain, RawJson, type Plain } from "../json";
import type { GrantedModel } from "../protocol";
import { errorOf, type ModelCall, type Walker } from "../walker";
import { DISPOSE } from "./streams";

const INTERFACE = "graph-host:host/model";
const FUNCTION = "complete";

type Block =
  | { tag: "text" | "reasoning"; val: string }
  | { tag: "tool-call"; val: { id: string; name: string; arguments: string } }
  | { tag: "tool-result"; val: { id: string; content: string; failed: boolean } }
  | { tag: "media"; val: { mediaType: string; data: Uint8Array } };

interface Message {
  role: "user" | "assistant";
  blocks: Block[];
}

/** A request of the component. */
interface Request {
  model: string;
  system: string | undefined;
  messages: Message[];
  tools: { name: string; description: string; parameters: string }[];
  toolChoice: { tag: "auto" | "none" | "required" } | { tag: "named"; val: string };
  outputSchema: string | undefined;
  maxOutput: bigint | undefined;
  temperature: number | undefined;
  stop: string[];
}

/** Functions of the executor for calls of models. */
export interface Asker {
  /** Sends a request once its reservation is stored, and returns its outcome. Throws a `Fault` if the component's time is over. */
  send(model: string, total: string, fields: [string, Uint8Array][], body: Uint8Array): Promise<string>;
  /** Waits before the next try. */
  wait(milliseconds: number): Promise<void>;
  /** Returns the time that the component may still wait, in milliseconds. */
  left(): number;
  /** Adds a log line of the host to those of the component. */
  warn(message: string): void;
}

function writtenBlock(block: Block): Plain {
  switch (block.tag) {
    case "text":
      return { text: block.val };
    case "reasoning":
      return { reasoning: block.val };
    case "tool-call":
      return { tool_call: { id: block.val.id, name: block.val.name, arguments: block.val.arguments } };
    case "tool-result":
      return { tool_result: { id: block.val.id, content: block.val.content, failed: block.val.failed } };
    case "media":
      return { media: { media_type: block.val.mediaType, data: (keptBytes(block.val.data) as { bytes: string }).bytes } };
  }
}

/** Converts a request for the walker. */
function written(request: Request): string {
  const fields: Record<string, Plain> = {
    model: request.model,
    messages: request.messages.map(({ role, blocks }) => ({ role, blocks: blocks.map(writtenBlock) })),
    tools: request.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    tool_choice: request.toolChoice.tag === "named" ? { named: request.toolChoice.val } : request.toolChoice.tag,
    stop: request.stop,
  };
  if (request.system !== undefined) fields["system"] = request.system;
  if (request.outputSchema !== undefined) fields["output_schema"] = request.outputSchema;
  if (request.maxOutput !== undefined) fields["max_output"] = new RawJson(String(request.maxOutput));
  // A value that is not finite is invalid, as -1 is.
  if (request.temperature !== undefined) fields["temperature"] = Number.isFinite(request.temperature) ? request.temperature : -1;
  return canonical(fields);
}

/** A block in the walker's form, with one field. Calls and results have only strings and booleans. */
type ReadBlock = {
  text?: string;
  reasoning?: string;
  tool_call?: { id: string; name: string; arguments: string };
  tool_result?: { id: string; content: string; failed?: boolean };
  media?: { media_type: string; data: string };
};

function readBlock({ text, reasoning, tool_call: call, tool_result: result, media }: ReadBlock): Block {
  if (text !== undefined) return { tag: "text", val: text };
  if (reasoning !== undefined) return { tag: "reasoning", val: reasoning };
  if (call) return { tag: "tool-call", val: call };
  if (result) return { tag: "tool-result", val: { ...result, failed: result.failed ?? false } };
  const data = asKept({ bytes: media?.data ?? null });
  if (media && data) return { tag: "media", val: { mediaType: media.media_type, data } };
  throw new Error("the walker gives a block that is unknown here");
}

/** Converts an answer for the component. */
function readResponse(text: string): object {
  const fields = members(text);
  const { role, blocks } = JSON.parse(fields.get("message") ?? "{}") as { role: Message["role"]; blocks: ReadBlock[] };
  const stop = JSON.parse(fields.get("stop") ?? '""') as string;
  const usage = [...members(fields.get("usage") ?? "{}")].map(([name, count]) => [name, BigInt(count)]);
  return { message: { role, blocks: blocks.map(readBlock) }, stop: stop.replaceAll("_", "-"), usage: Object.fromEntries(usage) as object };
}

/** Converts a failure for the component. */
function readFailure(text: string): Failure & { details: string | undefined } {
  const { category, message } = JSON.parse(text) as { category: Category; message: string };
  return { category, message, details: members(text).get("details") as string };
}

/** Returns the string that a function of the walker threw as its error. */
function told(thrown: unknown): string {
  const error = errorOf(thrown);
  if (typeof error !== "string") throw thrown;
  return error;
}

export function model(granted: GrantedModel[], grant: string, walker: Walker, journal: Journal, asker: Asker): Record<string, object> {
  const { budget } = journal;

  /** Asks the provider, as often as the walker decides; returns the outcome of the call. */
  async function outcomeOf(name: string, call: ModelCall): Promise<string> {
    for (;;) {
      let sending: [[string, Uint8Array][], Uint8Array];
      try {
        sending = call.begin(budget);
      } catch (error) {
        return told(error);
      }
      try {
        const tried = await asker.send(name, call.total(budget), ...sending);
        const outcome = call.settle(budget, tried, BigInt(Math.floor(Math.min(asker.left(), Number.MAX_SAFE_INTEGER))));
        const wait = members(outcome).get("wait");
        if (wait === undefined) return outcome;
        await asker.wait(Number(wait));
      } catch (error) {
        if (error instanceof Fault && error.category === "timeout") return call.late(budget);
        throw error;
      }
    }
  }

  async function answered(name: string, call: ModelCall): Promise<Map<string, string>> {
    const world = async (): Promise<Answer<string>> => {
      const value = await outcomeOf(name, call);
      const fields = members(value);
      const kept = plain(fields.get("kept") ?? "null");
      const ends = fields.get("ends");
      if (ends !== undefined) {
        const { category, message } = readFailure(ends);
        throw new Fault(category, message, kept);
      }
      return { ok: fields.get("ok") === "true", value, kept };
    };
    const again = (kept: Plain, ok: boolean): string | undefined => call.recorded(canonical(kept), ok);
    return members(await journal.ask(INTERFACE, FUNCTION, plain(call.asked()), world, again));
  }

  return {
    "graph-host:host/model": {
      async complete(request: Request): Promise<object> {
        let call: ModelCall;
        try {
          call = walker.models.Call.open(grant, written(request));
        } catch (error) {
          throw readFailure(told(error));
        }
        try {
          const outcome = await answered(request.model, call);
          const warning = outcome.get("warning");
          if (warning !== undefined) asker.warn(JSON.parse(warning) as string);
          const failure = outcome.get("failure");
          if (failure !== undefined) throw readFailure(failure);
          return readResponse(outcome.get("response") ?? "{}");
        } finally {
          call[DISPOSE]();
        }
      },
      models: (): string[] => granted.map(({ name }) => name),
      remaining(): Record<string, bigint | undefined> {
        const left = members(budget.left());
        const figure = (name: string): bigint | undefined => {
          const count = left.get(name);
          return count === undefined ? undefined : BigInt(count);
        };
        return { calls: figure("calls"), input: figure("input"), output: figure("output"), cost: figure("cost") };
      },
    },
  };
}
