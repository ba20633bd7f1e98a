// Compares a checkpoint of a replay with the recorded one, and finds the first key in which they differ. As
// `host/walker/src/replay/compare.rs`.

import { elements, escape, members, object } from "./json";
import { string, type Mark } from "./recorded";

/** Limit of characters of a value in messages. */
const SHOWN = 200;

export interface Difference {
  step: number;
  namespace: string;
  task?: string;
  node?: string;
  key: string;
  recorded: string;
  replayed: string;
}

/** Escapes and shortens a text for messages. */
export function shortened(text: string): string {
  const characters = [...escape(text.replaceAll("\n", " ").replaceAll("\t", " "))];
  return characters.length > SHOWN ? `${characters.slice(0, SHOWN).join("")}…` : characters.join("");
}

/** Describes a difference in the words of the command line. */
export function saidOf({ step, namespace, task, node, key, recorded, replayed }: Difference): string {
  const child = namespace === "" ? "" : ` of the child run ${namespace}`;
  const of = task === undefined ? "" : `, task ${task}`;
  const at = task === undefined || node === undefined ? "" : ` (node \`${node}\`)`;
  return `step ${step}${child}${of}${at}, key \`${key}\`: recorded ${recorded}, replayed ${replayed}`;
}

interface FoundDifference {
  key: string;
  recorded: string;
  replayed: string;
  task?: Map<string, string>;
}

/** Finds the first place in which two JSON texts differ, in the order of their keys. Numbers are compared as text. */
function differing(recorded: string | undefined, replayed: string | undefined, path: string): FoundDifference | undefined {
  if (recorded === replayed) return undefined;
  const found = { key: path, recorded: shortened(recorded ?? "nothing"), replayed: shortened(replayed ?? "nothing") };
  if (recorded === undefined || replayed === undefined) return found;
  const both = (sign: string): boolean => recorded.startsWith(sign) && replayed.startsWith(sign);
  if (both("{")) {
    const [then, now] = [members(recorded), members(replayed)];
    for (const key of [...new Set([...then.keys(), ...now.keys()])].sort()) {
      const inner = differing(then.get(key), now.get(key), path === "" ? key : `${path}.${key}`);
      if (inner) return inner;
    }
    return undefined;
  }
  if (both("[")) {
    const [then, now] = [elements(recorded), elements(replayed)];
    for (let index = 0; index < Math.max(then.length, now.length); index += 1) {
      const inner = differing(then[index], now[index], `${path}[${index}]`);
      if (inner) return inner;
    }
    return undefined;
  }
  return found;
}

const only = (fields: Map<string, string>, wanted: (key: string) => boolean): string =>
  object(Object.fromEntries([...fields].filter(([key]) => wanted(key))));

const list = (fields: Map<string, string>, name: string): Map<string, string>[] => elements(fields.get(name) ?? "[]").map(members);

function take(from: Map<string, string>, to: Map<string, string>, ...names: string[]): void {
  for (const name of names) {
    const value = from.get(name);
    if (value === undefined) to.delete(name);
    else to.set(name, value);
  }
}

const written = (fields: Map<string, string>): string => object(Object.fromEntries(fields));

/** Copies measured fields, and fields that do not depend on nodes, from the record. Returns whether attempts were cut short. */
function takeMeasured(recorded: Map<string, string>, now: Map<string, string>, cut: boolean): boolean {
  take(recorded, now, "micros", "parent", "accepted", "step_limit", "pins");
  const warned = [members(recorded.get("warned") ?? "{}"), members(now.get("warned") ?? "{}")] as const;
  if (warned[0].size > 0 && warned[0].get("sequence") === warned[1].get("sequence")) take(recorded, now, "warned");
  const [then, tasks] = [list(recorded, "tasks"), list(now, "tasks")];
  let isCut = cut;
  for (const [place, task] of tasks.entries()) {
    const before = then[place];
    if (!before) continue;
    take(before, task, "arrived", "at", "micros");
    const was = list(before, "events");
    const events = list(task, "events");
    for (const [at, event] of events.entries()) if (was[at]?.get("kind") === event.get("kind")) take(was[at] ?? event, event, "at");
    if (task.has("events")) task.set("events", `[${events.map(written).join(",")}]`);
    // An attempt that was cut short is recorded without details.
    if (Number(before.get("dispatches")) > Number(task.get("dispatches")) && before.get("task") === task.get("task")) {
      take(before, task, "dispatches");
      isCut = true;
    }
  }
  now.set("tasks", `[${tasks.map(written).join(",")}]`);
  if (isCut) take(recorded, now, "executions");
  return isCut;
}

const FIGURES = ["attempts", "dispatches", "fuel", "host"];

/** Finds the first task that differs, in its figures or in all other fields. */
function ofTasks(recorded: Map<string, string>, now: Map<string, string>, figures: boolean): FoundDifference | undefined {
  const [then, tasks] = [list(recorded, "tasks"), list(now, "tasks")];
  for (const [place, task] of then.entries()) {
    const other = tasks[place];
    if (!other) break;
    const wanted = (key: string): boolean => FIGURES.includes(key) === figures;
    const found = differing(only(task, wanted), only(other, wanted), "");
    if (found) return { ...found, task };
  }
  if (then.length === tasks.length) return undefined;
  return { key: "tasks", recorded: String(then.length), replayed: String(tasks.length) };
}

/** Finds the first channel with another value, and the task that wrote it. */
function ofValues(recorded: Map<string, string>, now: Map<string, string>, thenValues: string, nowValues: string): FoundDifference | undefined {
  const state = (values: string): Map<string, string> =>
    new Map(elements(values).map(members).map((value) => [string(value.get("channel")), string(value.get("json"))]));
  const [then, found] = [state(thenValues), state(nowValues)];
  for (const channel of new Set([...then.keys(), ...found.keys()])) {
    const differs = differing(then.get(channel) ?? "null", found.get(channel) ?? "null", `state.${channel}`);
    if (!differs) continue;
    const updates = (of: Map<string, string>): string[] => elements(members(of.get("updates") ?? "{}").get(channel) ?? "[]");
    const [first] = [...updates(recorded), ...updates(now)];
    const writer = first === undefined ? undefined : elements(first)[0];
    const task = list(recorded, "tasks").find((one) => one.get("node") === writer);
    return task ? { ...differs, task } : differs;
  }
  return undefined;
}

/** Fields that are compared last, since they follow from the others. */
const LAST = ["result", "visited_digest", "channels", "state", "delta", "warned"];
/** Fields that are not compared under `durability: exit`, where a record covers several supersteps. */
const TOLD = ["tasks", "updates", "visited", "warned", "warnings", "fired", "executions"];

function ofRecord(recorded: Map<string, string>, now: Map<string, string>, strict: boolean): FoundDifference | undefined {
  for (const last of [false, true]) {
    const wanted = (key: string): boolean => LAST.includes(key) === last && (strict || !TOLD.includes(key));
    const found = differing(only(recorded, wanted), only(now, wanted), "");
    if (found) return found;
  }
  return undefined;
}

/**
 * The first difference between the recorded checkpoint and the replay's. What was measured is taken from the record; everything
 * else has to be the same. Under `durability: exit` not every boundary was recorded, so that only the result digest is compared.
 */
export function compare(mark: Mark, body: string, values: string, strict: boolean, cut: { was: boolean }): Difference | undefined {
  const now = members(body);
  cut.was = takeMeasured(mark.fields, now, cut.was);
  const sameResult = now.get("result") === mark.fields.get("result");
  if (sameResult && (!strict || differing(written(mark.fields), written(now), "") === undefined)) return undefined;
  // Figures such as fuel follow from the other fields: they are named only if nothing else differs.
  const found = ofTasks(mark.fields, now, false) ??
    ofValues(mark.fields, now, mark.values, values) ??
    ofTasks(mark.fields, now, true) ??
    ofRecord(mark.fields, now, strict) ?? { key: "digest", recorded: mark.digest, replayed: "another digest" };
  const { task, ...place } = found;
  const of = task === undefined ? {} : { task: string(task.get("task")), node: string(task.get("node")) };
  return { step: mark.step, namespace: mark.namespace, ...of, ...place };
}
