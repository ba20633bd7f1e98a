// `graph-host:host/tools`: calls of other items, charged to the caller's budget. As `host/engine/src/host/tools.rs`.

import { Fault, type Failure } from "../fault";
import { faultAfter, type Answer, type CallsAndBytes, type HostUse, type Journal } from "../journal";
import { canonical, elements, members, object, RawJson, type Plain } from "../json";
import type { EventRecord } from "../protocol";
import { errorOf, type Budget } from "../walker";

const INTERFACE = "graph-host:host/tools";
const FUNCTION = "call";
/** Divisor for the part of its fuel that a caller keeps during a call. */
const KEPT_BACK = 8n;
/** Limit of nested calls, whatever the manifest says. */
const MAX_CALL_DEPTH = 8;

/** No use of the host. */
export const NOTHING: HostUse = { calls: 0, bytes: 0, model: "{}" };

/** The outcome of a call. */
export interface ToolReport {
  /** The result, as canonical JSON, or the failure. */
  result: { value: string } | { failure: Failure };
  fuel: bigint;
  host: HostUse;
  events: EventRecord[];
}

/** A call of another item, within the rest of its caller's budget. */
export interface ToolCall {
  item: string;
  params: string;
  fuel: bigint;
  host: CallsAndBytes;
  /** The caller's budget of models. */
  budget: Budget;
  /** The index of the call among its caller's, from 0. */
  number: number;
}

/** Functions of the executor for calls. */
export interface Caller {
  depth: number;
  readJson(text: string): string;
  /** Returns the fuel that is left. */
  fuel(): bigint;
  setFuel(fuel: bigint): void;
  /** Calls an item. A `Fault` also ends the caller. */
  call(call: ToolCall): Promise<ToolReport>;
  addEvent(event: EventRecord): void;
}

/** Converts a failure for an entry of the journal. */
export const keptFailure = ({ category, message, details }: Failure): RawJson =>
  new RawJson(object({ category: JSON.stringify(category), details, message: JSON.stringify(message) }));

function keptReport({ result, fuel, host, events }: ToolReport): Plain {
  const kept: Record<string, Plain> = { fuel: new RawJson(String(fuel)) };
  if ("value" in result) kept["result"] = new RawJson(result.value);
  else kept["failure"] = keptFailure(result.failure);
  const used: Record<string, Plain> = {};
  if (host.calls > 0) used["calls"] = host.calls;
  if (host.bytes > 0) used["bytes"] = host.bytes;
  if (host.model !== "{}") used["model"] = new RawJson(host.model);
  if (Object.keys(used).length > 0) kept["host"] = used;
  if (events.length > 0) kept["events"] = events.map(({ name, payload }) => [name, new RawJson(payload)]);
  return kept;
}

/** Reads a report from an entry; `undefined` if it is none. */
function reportAgain(kept: Plain): ToolReport | undefined {
  const fields = members(canonical(kept));
  const [fuel, value, failed] = [fields.get("fuel"), fields.get("result"), fields.get("failure")];
  if (fuel === undefined || (value === undefined && failed === undefined)) return undefined;
  const events = elements(fields.get("events") ?? "[]").map((event) => {
    const [name = "null", payload = "null"] = elements(event);
    return { name: JSON.parse(name) as string, payload };
  });
  let result: ToolReport["result"];
  if (failed === undefined) result = { value: value ?? "null" };
  else {
    const { category, message } = JSON.parse(failed) as Failure;
    const details = members(failed).get("details");
    result = { failure: { category, message, ...(details === undefined ? {} : { details }) } };
  }
  return { result, fuel: BigInt(fuel), host: NOTHING, events };
}

const nothing = (failure: Failure): ToolReport => ({ result: { failure }, fuel: 0n, host: NOTHING, events: [] });

export function tools(journal: Journal, caller: Caller): Record<string, object> {
  let number = 0;
  return {
    "graph-host:host/tools": {
      async call(item: string, text: string): Promise<string> {
        let params: string;
        try {
          params = caller.readJson(text);
        } catch (error) {
          const reason = String(errorOf(error) ?? error);
          throw { category: "invalid-input", message: `the params of its call are not JSON: ${reason}`, details: undefined };
        }
        const left = caller.fuel();
        const world = async (): Promise<Answer<ToolReport>> => {
          const report =
            caller.depth >= MAX_CALL_DEPTH
              ? nothing({ category: "limit", message: `\`${item}\` would be called more than ${MAX_CALL_DEPTH} levels deep` })
              : await caller.call({ item, params, fuel: left - left / KEPT_BACK, host: journal.left(), budget: journal.budget, number });
          journal.usedInside(report.host);
          return { ok: "value" in report.result, value: report, kept: keptReport(report) };
        };
        const report = await journal.ask(INTERFACE, FUNCTION, { item, params: new RawJson(params) }, world, reportAgain);
        number += 1;
        // Events of the callee count as the caller's, within its budget.
        for (const event of report.events) caller.addEvent(event);
        caller.setFuel(report.fuel > left ? 0n : left - report.fuel);
        if ("value" in report.result) return report.result.value;
        const { category, message, details } = report.result.failure;
        throw { category, message, details };
      },
    },
  };
}

/** Returns the fault of a caller whose time was over while it waited for another item; `used` is the model use of that item. */
export function lateCall(used = "{}"): Fault {
  const failure = { category: "timeout", message: "it ran past its deadline while it called another item" } as const;
  return new Fault(failure.category, failure.message, faultAfter(failure, used));
}
