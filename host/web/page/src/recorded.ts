// The records of a run, for look-ups of a replay. As `host/walker/src/replay/recorded.rs`.

import { storedOf, type Archive, type RecordLine } from "./archive";
import { elements, members } from "./json";

/** A checkpoint, with the texts of its fields. */
export interface Mark {
  namespace: string;
  sequence: number;
  step: number;
  at: string;
  digest: string;
  result: string;
  /** `input`, `superstep`, `inputs`, `update` or `fork`. */
  source: string;
  isStart: boolean;
  fields: Map<string, string>;
  values: string;
}

/** The records of a task, as JSON texts. */
export interface TaskRecords {
  answers: string[];
  /** Deadlines of the questions that expired without an answer, by their numbers. */
  expired: Map<string, string>;
  journal: string[];
  reported: number;
}

export const namespaceOf = (id: string): string => id.slice(0, Math.max(id.lastIndexOf("/"), 0));

/** Returns the id of the task whose child run has this namespace. */
export function taskOfChild(namespace: string): string {
  const segment = namespace.lastIndexOf("/") + 1;
  const mark = namespace.indexOf("@", segment);
  return mark < 0 ? namespace : namespace.slice(0, mark);
}

/** Checks whether the run in a namespace is a child of the superstep that follows a checkpoint. */
function isChildOf(namespace: string, parent: Mark): boolean {
  const task = taskOfChild(namespace);
  const segment = task.slice(task.lastIndexOf("/") + 1);
  if (!segment.includes(".") || namespaceOf(namespace) !== parent.namespace) return false;
  const name = parent.sequence === parent.step ? task : `${task}@${parent.sequence}`;
  return Number(segment.slice(0, segment.indexOf("."))) === parent.step + 1 && name === namespace;
}

export const string = (text: string | undefined): string => (text === undefined ? "" : String(JSON.parse(text)));

function markOf(record: RecordLine): Mark {
  const fields = members(record.body);
  const source = fields.get("source") ?? '""';
  const made = source.startsWith("{") ? ([...members(source).keys()][0] ?? "") : string(source);
  return {
    namespace: record.namespace,
    sequence: record.sequence,
    step: Number(fields.get("step")),
    at: fields.get("at") ?? "0",
    digest: record.digest,
    result: string(fields.get("result")),
    source: made,
    isStart: made === "input" && !fields.has("parent"),
    fields,
    values: record.values,
  };
}

/** Prefix of the message of a run that reached its deadline, in records from before errors stated their limit. */
const EARLIER_TIME_LIMIT = "the run's time limit";

/** Whether the error of a stopped run says that it reached its deadline. */
function isDeadline(error: Map<string, string>): boolean {
  if (error.has("limit")) return string(error.get("limit")) === "timeout";
  return string(error.get("message")).startsWith(EARLIER_TIME_LIMIT);
}

export class RecordedRun {
  private readonly lines = new Map<string, Mark[]>();
  /** Tasks whose superstep never committed. */
  private readonly pending = new Map<string, TaskRecords>();
  /** Results of hooks that no checkpoint contains, by call. */
  private readonly hooks = new Map<string, Map<string, string>>();
  /** Reasons why a page does not replay the run. */
  readonly refusals: string[] = [];

  constructor(readonly archive: Archive) {
    for (const record of archive.records) {
      if (record.kind !== "checkpoint") {
        this.takePending(record);
        continue;
      }
      const mark = markOf(record);
      const line = this.lines.get(mark.namespace);
      if (line) line.push(mark);
      else this.lines.set(mark.namespace, [mark]);
      this.checkMark(mark);
    }
    if (archive.pruned.length > 0) this.refuse("its first checkpoints were removed");
  }

  private refuse(why: string): void {
    if (!this.refusals.includes(why)) this.refusals.push(why);
  }

  private checkMark(mark: Mark): void {
    if (mark.fields.get("version") !== "2") this.refuse("release 0.1.0 of graph-host made it");
    if (mark.fields.has("accepted")) this.refuse("it was resumed with changes that its host accepted");
    for (const task of elements(mark.fields.get("tasks") ?? "[]").map(members)) {
      if (task.has("cached")) this.refuse(`node \`${string(task.get("node"))}\` used a result from the cache of its host`);
      if (task.has("dropped")) this.refuse(`an answer of node \`${string(task.get("node"))}\` was replaced by another one`);
    }
  }

  private takePending(record: RecordLine): void {
    const fields = members(record.body);
    const known = (task: string): TaskRecords => {
      const found = this.pending.get(task) ?? { answers: [], expired: new Map<string, string>(), journal: [], reported: 0 };
      this.pending.set(task, found);
      return found;
    };
    const longer = (of: TaskRecords, journal: string[]): void => {
      if (journal.length > of.journal.length) of.journal = journal;
    };
    switch (record.kind) {
      case "task": {
        if (members(fields.get("cache") ?? "{}").get("kind") === '"hit"') this.refuse(`node \`${string(fields.get("node"))}\` used a result from the cache of its host`);
        const of = known(record.task);
        of.reported = Math.max(of.reported, Number(fields.get("attempt")));
        longer(of, elements(fields.get("journal") ?? "[]"));
        return;
      }
      case "answers":
        if (fields.has("dropped")) this.refuse(`an answer of node \`${string(fields.get("node"))}\` was replaced by another one`);
        known(record.task).answers = elements(fields.get("answers") ?? "[]");
        known(record.task).expired = members(fields.get("expired") ?? "{}");
        return;
      case "status": {
        if (fields.has("accepted")) this.refuse("it was resumed with changes that its host accepted");
        const error = members(fields.get("error") ?? "{}");
        if (record.namespace !== "" && string(fields.get("status")) === "limit" && isDeadline(error)) {
          this.refuse(`the child run ${record.namespace} stopped at its deadline`);
        }
        for (const [task, used] of members(fields.get("tasks") ?? "{}")) longer(known(task), elements(members(used).get("journal") ?? "[]"));
        return;
      }
      case "hook":
        // A call of a hook with only a reservation has no result.
        if (fields.get("reserved") !== "true") this.hooks.set(record.task, fields);
        return;
      default:
    }
  }

  /** Returns the checkpoints of a namespace. */
  line(namespace: string): Mark[] {
    return this.lines.get(namespace) ?? [];
  }

  namespaces(): string[] {
    return [...this.lines.keys()];
  }

  find(namespace: string, sequence: number): Mark | undefined {
    return this.line(namespace).find((mark) => mark.sequence === sequence);
  }

  /** Returns the first checkpoint of a namespace after a number. */
  next(namespace: string, after: number | undefined): Mark | undefined {
    return this.line(namespace).find((mark) => after === undefined || mark.sequence > after);
  }

  /** Returns the records of a task of the superstep after a checkpoint. */
  task(namespace: string, after: number | undefined, task: string): TaskRecords {
    const committed = this.next(namespace, after);
    for (const summary of elements(committed?.fields.get("tasks") ?? "[]").map(members)) {
      if (string(summary.get("task")) !== task) continue;
      const list = (name: string): string[] => elements(summary.get(name) ?? "[]");
      return { answers: list("answers"), expired: members(summary.get("expired") ?? "{}"), journal: list("journal"), reported: Number.MAX_SAFE_INTEGER };
    }
    return this.pending.get(task) ?? { answers: [], expired: new Map<string, string>(), journal: [], reported: 0 };
  }

  /** Returns the result of a hook that was called after a checkpoint. */
  hook(namespace: string, after: number | undefined, call: string): Map<string, string> | undefined {
    const committed = elements(this.next(namespace, after)?.fields.get("hooked") ?? "[]").map(members);
    return committed.find((hook) => string(hook.get("call")) === call) ?? this.hooks.get(call);
  }

  /** Returns the first checkpoint of the next child run that starts under a checkpoint, in task order. */
  childToBegin(parent: Mark, begun: (namespace: string) => boolean): Mark | undefined {
    const ordinal = (child: string): number => Number.parseInt(child.slice(child.lastIndexOf(".") + 1), 10);
    const children = this.namespaces().filter((child) => isChildOf(child, parent) && !begun(child));
    children.sort((a, b) => ordinal(a) - ordinal(b));
    return children[0] === undefined ? undefined : this.line(children[0])[0];
  }

  /** Returns the stored run up to one of its checkpoints, without pending records, from which the walker restores it. */
  storedAt(sequence: number): string {
    const upTo = this.archive.records.filter(({ kind, namespace, sequence: at }) => kind === "checkpoint" && namespace === "" && at <= sequence);
    return storedOf(upTo, this.archive.texts);
  }
}

/** Returns the calls of an attempt from the journals of its task. */
export function entriesOf(journal: string[], attempt: string, dispatch: number): string[] {
  const found = journal.map(members).find((one) => one.get("attempt") === attempt && one.get("dispatch") === String(dispatch));
  return elements(found?.get("entries") ?? "[]");
}
