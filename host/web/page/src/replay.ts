// Executes a recorded run again, without the network, and compares. As `host/walker/src/replay`: the walker makes the same decisions, as it
// receives the recorded times, seed and answers; components are answered from the journal; nothing is stored.

import type { Archive } from "./archive";
import { compare, saidOf, shortened, type Difference } from "./compare";
import { elements, members, object } from "./json";
import { entriesOf, namespaceOf, RecordedRun, string, taskOfChild, type Mark } from "./recorded";
import { problem, type Run, type Walker } from "./walker";

/** A superstep that was executed again, or a checkpoint from which the replay starts. */
export interface ReplayedStep {
  namespace: string;
  step: number;
  /** Source of the checkpoint, such as `superstep`. */
  made: string;
  nodes: string[];
  fuel: string;
  result: { recorded: string; replayed: string };
  equal: boolean;
}

/** The result of a replay. */
export interface Replay {
  run: string;
  supersteps: number;
  attempts: number;
  /** Number of journal entries. */
  entries: number;
  differences: Difference[];
}

/** A call of a component that its journal answers. */
export interface PlayedCall {
  /** Entries of the journal, as JSON texts. */
  entries: string[];
  /** Difference of the call from its journal. */
  difference?: string;
}

/** Performs an attempt with a journal; returns its report. */
export type Perform = (run: Run, effect: Map<string, string>, played: PlayedCall) => Promise<string>;

export interface ReplaySetup {
  walker: Walker;
  /** Setup of the run, as JSON texts, without the fields that its checkpoints define. */
  setup: Record<string, string | undefined>;
  perform: Perform;
  onReplayed(replayed: ReplayedStep): void;
}

/** Describes the first difference in the words of the command line; `undefined` if there is none. */
export function messageOf({ run, differences }: Replay): string | undefined {
  const [first, ...others] = differences;
  if (!first) return undefined;
  const more = others.length === 0 ? "" : others.length === 1 ? ", and in one more place" : `, and in ${others.length} more places`;
  return `the replay of run ${run} differs at ${saidOf(first)}${more}`;
}

/** Number of resumes of a superstep beyond the recorded ones before it counts as stuck. */
const PATIENCE = 16;

class Walk {
  /** Number of the newest checkpoint that each run of the tree has reached. */
  private readonly reached = new Map<string, number>();
  private effects: Map<string, string>[] = [];
  private tasks: Map<string, string>[] = [];
  private hooks: Map<string, string>[] = [];
  private lookups: Map<string, string>[] = [];
  private persisted: { id: string; namespace: string }[] = [];
  private retries: string[] = [];
  /** Numbers of dispatches and of answers of each task in the active supersteps. */
  private readonly dispatches = new Map<string, number>();
  private readonly answered = new Map<string, number>();
  private suspended: string | undefined;
  private hasMore = false;
  private resumes = 0;
  private readonly cut = { was: false };
  private differed = false;

  constructor(
    private readonly recorded: RecordedRun,
    private readonly setup: ReplaySetup,
    private readonly run: Run,
    private readonly replay: Replay,
    reached: number | undefined,
    private readonly end: number,
  ) {
    if (reached !== undefined) this.reached.set("", reached);
  }

  /** Executes until the end is reached or something differs; returns the number of the last checkpoint of the root run. */
  async go(first: string): Promise<number | undefined> {
    this.guarded(() => this.handle("", first));
    for (;;) {
      for (let effect = this.effects.shift(); effect; effect = this.effects.shift()) this.perform(effect);
      const root = this.reached.get("");
      if (this.differed || (root !== undefined && root >= this.end)) return root;
      await this.advance();
    }
  }

  /** Sends the walker the next event; events that need no decision come first. */
  private async advance(): Promise<void> {
    if (this.hasMore) {
      this.hasMore = false;
      return this.guarded(() => this.handle("", '{"event":"continued"}'));
    }
    const persisted = this.persisted.shift();
    if (persisted) return this.guarded(() => this.handle(persisted.namespace, object({ event: '"persisted"', id: persisted.id })));
    const hook = this.hooks.shift();
    if (hook) return this.guarded(() => this.hook(hook));
    const lookup = this.lookups.shift();
    if (lookup) {
      const { task, attempt } = idOf(lookup);
      return this.guarded(() => this.handle(namespaceOf(task), object({ event: '"looked_up"', task: JSON.stringify(task), attempt })));
    }
    const task = this.tasks.shift();
    if (task) {
      const { namespace, event } = await this.execute(task);
      return this.guarded(() => this.handle(namespace, event));
    }
    const timer = this.retries.shift();
    if (timer !== undefined) {
      return this.guarded(() => this.handle(namespaceOf(string(members(timer).get("task"))), object({ event: '"timer_fired"', timer })));
    }
    const { suspended } = this;
    this.suspended = undefined;
    if (suspended === undefined) return this.stuck("nothing is left to be done, and the superstep has not committed");
    const resumed = this.resume(suspended);
    if ("stuck" in resumed) return this.stuck(resumed.stuck);
    return this.guarded(() => this.handleAt(this.nextOfAll(), resumed.event));
  }

  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      const refused = problem(error);
      if (!refused) throw error;
      // Other errors are those of late events, of abandoned attempts or timers.
      if (refused.code === "illegal_event" || refused.code === "invalid_json") this.stuck(refused.message);
    }
  }

  private handle(namespace: string, event: string): void {
    this.handleAt(this.now(namespace), event);
  }

  private handleAt(now: string, event: string): void {
    this.effects.push(...elements(this.run.handle(BigInt(now), event)).map(members));
  }

  /** Returns the time of a resume, which concerns all runs of the tree; see the native replay. */
  private nextOfAll(): string {
    const times = [...this.reached.keys()].flatMap((namespace) => this.nextIn(namespace)?.at ?? []);
    return times.reduce<string | undefined>((least, at) => (least !== undefined && BigInt(least) <= BigInt(at) ? least : at), undefined) ?? this.now("");
  }

  /** Returns the next checkpoint in a namespace: the first one of a child run, else the next boundary; see the native replay. */
  private nextIn(namespace: string) {
    const reached = this.reached.get(namespace);
    const at = reached === undefined ? undefined : this.recorded.find(namespace, reached);
    const child = at && this.recorded.childToBegin(at, (one) => this.reached.has(one));
    return child ?? this.recorded.next(namespace, reached);
  }

  /** Returns the time of an event in a namespace: that of the next boundary; see the native replay. */
  private now(namespace: string): string {
    for (let of = namespace; ; of = namespaceOf(of)) {
      const next = this.nextIn(of);
      if (next) return next.at;
      if (of === "") return this.recorded.line("").at(-1)?.at ?? "0";
    }
  }

  private perform(effect: Map<string, string>): void {
    switch (string(effect.get("effect"))) {
      case "run_task":
        this.tasks.push(effect);
        return;
      case "look_up":
        this.lookups.push(effect);
        return;
      case "run_hook":
        this.hooks.push(effect);
        return;
      case "abort": {
        const other = (one: Map<string, string>): boolean => {
          const { task, attempt } = idOf(one);
          return task !== string(effect.get("task")) || attempt !== effect.get("attempt");
        };
        this.tasks = this.tasks.filter(other);
        this.lookups = this.lookups.filter(other);
        return;
      }
      case "abort_hook":
        this.hooks = this.hooks.filter((one) => idOf(one).task !== string(effect.get("hook")));
        return;
      case "persist":
        this.persist(effect);
        return;
      case "set_timer": {
        const timer = effect.get("timer") ?? "null";
        if (string(members(timer).get("kind")) === "retry") this.retries.push(timer);
        return;
      }
      case "suspend":
        this.suspended = string(effect.get("status"));
        return;
      case "continue":
        this.hasMore = true;
        return;
      case "emit": {
        const notice = members(effect.get("notice") ?? "{}");
        if (string(notice.get("notice")) === "child_started") this.dispatched(taskOfChild(string(notice.get("namespace"))));
        return;
      }
      default:
    }
  }

  private dispatched(task: string): number {
    const count = (this.dispatches.get(task) ?? 0) + 1;
    this.dispatches.set(task, count);
    return count;
  }

  private known(task: string): ReturnType<RecordedRun["task"]> {
    const namespace = namespaceOf(task);
    return this.recorded.task(namespace, this.reached.get(namespace), task);
  }

  private async execute(effect: Map<string, string>): Promise<{ namespace: string; event: string }> {
    const { task, attempt } = idOf(effect);
    const namespace = namespaceOf(task);
    const played: PlayedCall = { entries: entriesOf(this.known(task).journal, attempt, this.dispatched(task)) };
    this.replay.attempts += 1;
    this.replay.entries += played.entries.length;
    const report = await this.setup.perform(this.run, effect, played);
    if (played.difference !== undefined) {
      const step = Number(members(effect.get("activation") ?? "{}").get("superstep"));
      const node = string(effect.get("path"));
      this.differs({ step, namespace, task, node, key: "journal", recorded: "what its journal holds", replayed: played.difference });
    }
    return { namespace, event: object({ event: '"task_done"', task: JSON.stringify(task), attempt, report }) };
  }

  /** Answers a hook with its recorded result: hooks are not executed again. */
  private hook(effect: Map<string, string>): void {
    const activation = members(effect.get("activation") ?? "{}");
    const call = string(activation.get("task"));
    const prefix = `${this.recorded.archive.run}/`;
    const run = string(activation.get("run_id"));
    const namespace = run.startsWith(prefix) ? run.slice(prefix.length) : "";
    const reached = this.reached.get(namespace);
    const found = this.recorded.hook(namespace, reached, call);
    if (!found) {
      const step = this.recorded.next(namespace, reached)?.step ?? 0;
      return this.differs({ step, namespace, key: "hooked", recorded: "nothing", replayed: call });
    }
    const failure = found.get("failure");
    const outcome = failure === undefined ? object({ result: found.get("control") ?? "null" }) : undefined;
    const report = object({ outcome, failure, fuel: found.get("fuel"), host: found.get("host"), lost: found.get("lost") });
    this.handle(namespace, object({ event: '"hook_done"', hook: JSON.stringify(call), report }));
  }

  /** Returns the recorded resume at this point. */
  private resume(status: string): { event: string } | { stuck: string } {
    const summary = members(this.run.summary());
    this.resumes += 1;
    const next = this.recorded.next("", this.reached.get(""));
    const dispatches = elements(next?.fields.get("tasks") ?? "[]").map((task) => Number(members(task).get("dispatches")));
    const expected = [...dispatches, ...this.answered.values()].reduce((sum, one) => sum + one, PATIENCE);
    if (this.resumes > expected) {
      return { stuck: `it stops again and again as ${status}: ${string(members(summary.get("error") ?? "{}").get("message"))}` };
    }
    const known: { id: string; task: string; event: string; next: bigint | undefined; isStopped: boolean }[] = [];
    const asked = elements(summary.get("interrupts") ?? "[]").map(members).filter((open) => (open.get("payload") ?? "null") !== "null");
    for (const open of asked) {
      const id = string(open.get("id"));
      const task = namespaceOf(id);
      const number = id.slice(task.length + 1);
      const recorded = this.known(task);
      const answer = recorded.answers[Number(number)];
      if (answer === undefined) continue;
      const until = recorded.expired.get(number);
      const event = until === undefined ? object({ given: answer }) : object({ expired: until });
      const of = namespaceOf(task);
      const next = this.recorded.next(of, this.reached.get(of))?.at;
      // A dispatch that ends at once: the answer does not extend the budget.
      const isStopped = open.has("budget") && answer === "false";
      known.push({ id, task, event, next: next === undefined ? undefined : BigInt(next), isStopped });
    }
    // The run may have been resumed with one answer at a time. The consequences of the first one are recorded first.
    const first = known.reduce<bigint | undefined>((least, { next }) => (next !== undefined && (least === undefined || next < least) ? next : least), undefined);
    const answers: Record<string, string> = {};
    for (const { id, task, event, isStopped } of known.filter(({ next }) => next === first)) {
      answers[id] = event;
      if (isStopped) this.dispatches.set(task, (this.dispatches.get(task) ?? 0) + 1);
      this.answered.set(task, (this.answered.get(task) ?? 0) + 1);
    }
    const given = Object.keys(answers).length > 0;
    if (asked.length > 0 && !given) return { stuck: `${asked.map((open) => string(open.get("node"))).join(", ")} asks, and no answer is recorded` };
    const maxSteps = status === "limit" ? "18446744073709551614" : undefined;
    return { event: object({ event: '"resumed"', recorded: given ? object(answers) : undefined, max_steps: maxSteps }) };
  }

  private persist(effect: Map<string, string>): void {
    const record = members(effect.get("record") ?? "{}");
    const namespace = string(record.get("namespace"));
    const kind = string(record.get("kind"));
    // The end or the pause of a child run may start work in the run around it; see the native replay.
    const stops = kind === "status" && string(record.get("status")) !== "running";
    this.persisted.push({ id: effect.get("id") ?? "0", namespace: stops ? namespaceOf(namespace) : namespace });
    if (kind !== "checkpoint") return;
    const sequence = Number(record.get("sequence"));
    const found = this.recorded.find(namespace, sequence);
    const strict = string(this.recorded.archive.row.get("durability")) !== "exit";
    const body = string(record.get("body"));
    if (found) {
      const difference = compare(found, body, record.get("values") ?? "[]", strict, this.cut);
      this.setup.onReplayed(shownOf(found, members(body), string(effect.get("result_digest")), difference === undefined));
      if (found.source === "superstep") this.replay.supersteps += 1;
      if (difference) this.differs(difference);
    } else if (strict) {
      const next = this.recorded.next(namespace, this.reached.get(namespace));
      const expected = next ? String(next.sequence) : "no checkpoint";
      this.differs({ step: Number(record.get("step")), namespace, key: "sequence", recorded: expected, replayed: String(sequence) });
    }
    const below = namespace === "" ? "" : `${namespace}/`;
    for (const counts of [this.dispatches, this.answered]) for (const task of [...counts.keys()]) if (task.startsWith(below)) counts.delete(task);
    if (namespace === "") {
      this.resumes = 0;
      // The child runs of a superstep that has committed are no longer needed.
      this.reached.clear();
    }
    this.reached.set(namespace, sequence);
  }

  /** Reports that the superstep cannot be completed. */
  private stuck(reason: string): void {
    const next = this.recorded.next("", this.reached.get(""));
    const error = members(members(this.run.summary()).get("error") ?? "{}");
    const node = error.has("node") ? string(error.get("node")) : undefined;
    const told = error.has("message") ? `: ${string(error.get("message"))}` : "";
    const task = elements(next?.fields.get("tasks") ?? "[]").map(members).find((one) => string(one.get("node")) === node);
    this.differs({
      step: next?.step ?? 0,
      namespace: "",
      ...(task && node !== undefined ? { task: string(task.get("task")), node } : {}),
      key: "outcome",
      recorded: "committed",
      replayed: shortened(`${reason}${told}`),
    });
  }

  private differs(difference: Difference): void {
    // Within one superstep, only the first difference is reported: the others follow from it.
    if (!this.differed) this.replay.differences.push(difference);
    this.differed = true;
  }
}

function idOf(effect: Map<string, string>): { task: string; attempt: string } {
  const activation = members(effect.get("activation") ?? "{}");
  return { task: string(activation.get("task")), attempt: activation.get("attempt") ?? "1" };
}

function shownOf(mark: Mark, replayed: Map<string, string>, result: string, equal: boolean): ReplayedStep {
  const fuel = elements(replayed.get("tasks") ?? "[]").reduce((sum, task) => sum + BigInt(members(task).get("fuel") ?? 0), 0n);
  return {
    namespace: mark.namespace,
    step: mark.step,
    made: mark.source === "input" ? "start" : mark.source,
    nodes: JSON.parse(mark.fields.get("visited") ?? "[]") as string[],
    fuel: String(fuel),
    result: { recorded: mark.result, replayed: result },
    equal,
  };
}

/** Returns the row of a checkpoint that no superstep made: the replay starts again from it. */
const takenOf = (mark: Mark): ReplayedStep => ({ ...shownOf(mark, mark.fields, mark.result, true), nodes: [], fuel: "0" });

/** Returns the reason why a page does not replay a run, if there is one; checked before the replay starts. */
export function refusalOf(recorded: RecordedRun): string | undefined {
  const { run } = recorded.archive;
  if (recorded.line("").length === 0) return `run ${run} has no checkpoint: there is nothing to replay`;
  const [first] = recorded.refusals;
  return first === undefined ? undefined : `run ${run} cannot be replayed in a page: ${first}\nreplay it with \`graph-host runs import\` and \`graph-host replay\``;
}

/** Replays a verified run. */
export async function replay(archive: Archive, recorded: RecordedRun, setup: ReplaySetup): Promise<Replay> {
  const done: Replay = { run: archive.run, supersteps: 0, attempts: 0, entries: 0, differences: [] };
  const line = recorded.line("");
  for (let start = 0; start < line.length; ) {
    let end = start;
    while (line[end + 1]?.source === "superstep") end += 1;
    await segment(recorded, setup, done, start, end);
    start = end + 1;
  }
  return done;
}

/** Executes the supersteps that follow from a checkpoint without external events. */
async function segment(recorded: RecordedRun, setup: ReplaySetup, done: Replay, start: number, end: number): Promise<void> {
  const line = recorded.line("");
  const first = line[start] as Mark;
  let begins = first.isStart;
  if (!begins) setup.onReplayed(takenOf(first));
  for (let at = start; begins || at < end; ) {
    const mark = line[at] as Mark;
    const started = setupOf(recorded, setup, mark);
    const { Run: runs } = setup.walker.runs;
    const run = begins ? runs.start(started) : runs.restore(started, recorded.storedAt(mark.sequence));
    const walk = new Walk(recorded, setup, run, done, begins ? undefined : mark.sequence, (line[end] as Mark).sequence);
    const reached = await walk.go(begins ? '{"event":"started"}' : '{"event":"resumed"}');
    const next = line.findIndex(({ sequence }) => sequence === reached);
    // After a difference, the next superstep starts again from the record.
    at = next > at ? next : at + 1;
    begins = false;
  }
}

/** Returns the setup of the recorded run at a checkpoint. */
function setupOf(recorded: RecordedRun, setup: ReplaySetup, { fields }: Mark): string {
  const { archive } = recorded;
  const maxSteps = archive.row.get("max_steps");
  return object({
    ...setup.setup,
    run: JSON.stringify(archive.run),
    inputs: archive.texts.get(string(fields.get("inputs"))) ?? "{}",
    seed: fields.get("seed"),
    pins: fields.get("pins"),
    stored_by: JSON.stringify(archive.key),
    // With `sync`, every boundary becomes a checkpoint, so that the recorded ones can be compared.
    durability: '"sync"',
    max_steps: maxSteps === "null" ? undefined : maxSteps,
  });
}
