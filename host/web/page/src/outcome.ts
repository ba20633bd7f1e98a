// Conversion of activations and outcomes. As `host/engine/src/convert.rs`.

import type { Failure } from "./fault";
import { elements, escape, members, object } from "./json";
import { errorOf } from "./walker";

/** Length of the longest failure message, in bytes. */
const MAX_MESSAGE = 8 << 10;

/** An instance of a component. `run` returns a promise if the component may wait. */
export interface Instance {
  "graph-host:node/action@0.1.0": { run(activation: object, params: string): ReturnedOutcome | Promise<ReturnedOutcome> };
}

interface ReturnedOutcome {
  tag: "result" | "interrupt" | "command";
  val: string | { update: string; goto: { node: string; argument?: string }[] };
}

/** Outcome of a call. Values are JSON texts. */
export type Outcome = { result: string } | { interrupt: string } | { command: string } | { failure: Failure };

const length = (text: string): number => new TextEncoder().encode(text).length;

/** Converts a failure for a report. */
export const failed = ({ category, message, details }: Failure): string =>
  object({ category: JSON.stringify(category), message: JSON.stringify(message), details });

/** Converts an outcome for a report. */
export const reported = (outcome: Outcome): Record<string, string> =>
  "failure" in outcome ? { failure: failed(outcome.failure) } : { outcome: object(outcome as Record<string, string>) };

/** Calls `run`, and reads its outcome: strict JSON, within the output limit. */
export async function run(instance: Instance, activation: string, params: string, output: number, readJson: (text: string) => string): Promise<Outcome> {
  let returned: ReturnedOutcome | undefined;
  let failure: { category: string; message: string; details?: string } | undefined;
  try {
    returned = await instance["graph-host:node/action@0.1.0"].run(activationOf(activation), params);
  } catch (error) {
    failure = errorOf(error) as typeof failure;
    if (failure === undefined) throw error;
  }
  let left = output;
  const spend = (bytes: number): void => {
    left -= bytes;
    if (left < 0) throw { category: "limit", message: `what it answered has more than ${output} bytes` } satisfies Failure;
  };
  const json = (text: string, what: string): string => {
    spend(length(text));
    try {
      return readJson(text);
    } catch (error) {
      const reason = String(errorOf(error) ?? error);
      throw { category: "internal", message: `${what} is not valid JSON: ${reason}` } satisfies Failure;
    }
  };
  try {
    if (failure) {
      const details = failure.details === undefined ? undefined : json(failure.details, "the details of its failure");
      const category = failure.category as Failure["category"];
      return { failure: { category, message: shortened(failure.message), ...(details === undefined ? {} : { details }) } };
    }
    const { tag, val } = returned!;
    if (typeof val === "string") return tag === "result" ? { result: json(val, "its result") } : { interrupt: json(val, "its question") };
    const update = json(val.update, "the update of its command");
    if (!update.startsWith("{")) throw { category: "internal", message: "the update of its command is not a JSON object" } satisfies Failure;
    const goto = val.goto.map(({ node, argument }) => {
      spend(length(node) + 1);
      const given = argument === undefined ? undefined : json(argument, "an argument in its command");
      return object({ node: JSON.stringify(node), argument: given });
    });
    return { command: object({ update, goto: `[${goto.join(",")}]` }) };
  } catch (refused) {
    return { failure: refused as Failure };
  }
}

/** Escapes and shortens a failure message. */
function shortened(message: string): string {
  const bytes = new TextEncoder().encode(message);
  if (bytes.length <= MAX_MESSAGE) return escape(message);
  let end = MAX_MESSAGE;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${escape(new TextDecoder().decode(bytes.subarray(0, end)))}…`;
}

function activationOf(text: string): object {
  const fields = members(text);
  const value = (name: string): unknown => JSON.parse(fields.get(name) ?? "null");
  return {
    runId: value("run_id"),
    rootRunId: value("root_run_id"),
    parentRunId: value("parent_run_id") ?? undefined,
    graphId: value("graph_id"),
    nodeId: value("node_id"),
    superstep: BigInt(fields.get("superstep") ?? 0),
    task: value("task"),
    attempt: value("attempt"),
    visit: BigInt(fields.get("visit") ?? 0),
    argument: fields.get("argument"),
    answers: elements(fields.get("answers") ?? "[]"),
    idempotencyKey: value("idempotency_key"),
  };
}
