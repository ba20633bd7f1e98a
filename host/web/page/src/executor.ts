// A worker that calls components: every call in a fresh instance, metered by the instance itself. As `host/engine/src/call.rs` and, for
// components that call others, `host/runtime/src/executor/component_calls.rs`.

import { classify, Fault } from "./fault";
import { callFunction, outcomeOf } from "./functions";
import { cli } from "./interfaces/cli";
import { Files, filesystem } from "./interfaces/filesystem";
import { http } from "./interfaces/http";
import { knowledge } from "./interfaces/knowledge";
import { model } from "./interfaces/model";
import { Output } from "./interfaces/output";
import { secrets } from "./interfaces/secrets";
import { DISPOSE, Handles, streams } from "./interfaces/streams";
import { lateCall, NOTHING, tools, type ToolCall, type ToolReport } from "./interfaces/tools";
import { clocks, random } from "./interfaces/world";
import { deadlineOf, Journal, type Entry } from "./journal";
import { canonical, members, object, plain } from "./json";
import { counts, Meter } from "./meter";
import { failed, reported, run, type Instance, type Outcome } from "./outcome";
import type { Call, CallDone, Grant, KnowledgeQuestion, Limits, LoadedComponent, LogLine, Question, RequestTold, Setup, KnowledgeAnswer, ToolTold } from "./protocol";
import { Waits } from "./waiting_time";
import { errorOf, load, words, type Budget, type FunctionCall, type Walker } from "./walker";

/** The walker words the failure of a late call: its entry contains its possible use. */
const LATE_MODEL = "it ran past its deadline while it waited for a model";

interface ReadyComponent {
  component: LoadedComponent;
  instantiate: (imports: object, meter: Meter) => Promise<Instance>;
  /** Initial pages of the memories, by core module. */
  begins: Map<WebAssembly.Module, number>;
}

/** A call of a component: that of a task, or that of another component. */
interface Frame {
  component: string;
  /** Function that is called in place of the node action. */
  called?: string | undefined;
  activation: string;
  params: string;
  seed: Uint8Array;
  clock: number;
  limits: Limits;
  grant: string;
  /** Budget of language models. */
  budget: Budget;
  /** Depth of nested calls of components. */
  depth: number;
  played?: Entry[] | undefined;
}

interface CallReport {
  outcome: Outcome;
  fuel: bigint;
  /** Host fuel for the conversion of a function's values. */
  work: bigint;
  /** `true` if its time was over while it waited. */
  late: boolean;
  /** Milliseconds that it has waited. */
  waited: number;
  output: Output;
  journal: Journal;
}

export const hasJspi = (): boolean => "Suspending" in WebAssembly;

export class Executor {
  private constructor(
    private readonly walker: Walker,
    private readonly ready: Map<string, ReadyComponent>,
    private readonly files: Files,
    private readonly ask: (question: Question) => Promise<unknown>,
    /** Reports the use of each call of a model as soon as it has ended. */
    private readonly spent: (entry: string) => void,
  ) {}

  static async of(setup: Setup, ask: (question: Question) => Promise<unknown>, spent: (entry: string) => void): Promise<Executor> {
    const walker = await (await load<Walker>(setup.walker))({});
    const ready = new Map<string, ReadyComponent>();
    for (const component of setup.components) {
      const { cores, pages } = component;
      if (!Object.values(cores).every(counts)) throw new Error(`component ${component.digest} counts no fuel`);
      const begins = new Map(Object.entries(cores).map(([name, module]) => [module, pages[name] ?? 0]));
      ready.set(component.digest, { component, instantiate: await load<Instance>(component), begins });
    }
    const executor = new Executor(walker, ready, new Files(setup.files, setup.empty), ask, spent);
    executor.check(setup.interfaces);
    return executor;
  }

  /** Checks that this worker provides exactly the interfaces that the bundle was made for; interfaces with types only need nothing. */
  private check(interfaces: string[]): void {
    const budget = this.walker.models.Budget.open([]);
    const frame = { seed: new Uint8Array(32), clock: 0, depth: 0, limits: {} as Limits, grant: "{}", budget, component: "", activation: "", params: "" };
    const grant = { kinds: [], filesystem: [], limits: frame.limits };
    const journal = new Journal(frame.limits, budget, this.walker);
    const given = Object.keys(this.imports(frame, grant, journal, new Output(0, String), new Waits(0), () => undefined)).sort();
    const wanted = interfaces.filter((name) => name !== "graph-host:node/types").sort();
    if (given.join() !== wanted.join()) throw new Error(`the page gives ${given.join(", ")}, and the bundle was made for ${wanted.join(", ")}`);
  }

  async call(call: Call): Promise<CallDone> {
    const played = call.played?.map((entry) => plain(entry) as unknown as Entry);
    const deadline = played && deadlineOf(played);
    if (deadline) return { id: call.id, logs: [], report: object({ failure: failed(deadline), fuel: String(call.limits.fuel) }) };
    const budget = this.walker.models.Budget.open(call.budgets);
    const { outcome, fuel, work, output, journal } = await this.perform({ ...call, played, seed: seedOf(call.seed), budget, depth: 0 });
    budget[DISPOSE]();
    journal.finish();
    const { difference } = journal;
    const answer = reported(difference === undefined ? outcome : { failure: { category: "internal", message: difference } });
    const entries = (played ?? journal.entries) as unknown as Parameters<typeof canonical>[0];
    const report = object({
      ...answer,
      fuel: String(fuel),
      work: work === 0n ? undefined : String(work),
      events: `[${output.events.map(({ name, payload }) => object({ name: JSON.stringify(name), payload })).join(",")}]`,
      journal: canonical(entries),
    });
    return { id: call.id, report, logs: output.logs, ...(difference === undefined ? {} : { difference }) };
  }

  private async perform(frame: Frame): Promise<CallReport> {
    const { limits } = frame;
    const journal = new Journal(limits, frame.budget, this.walker, frame.played, frame.played ? undefined : this.spent);
    const output = new Output(limits.log, (text) => this.walker.host.readJson(text));
    const limit = BigInt(limits.fuel);
    let meter: Meter | undefined;
    let opened: FunctionCall | undefined;
    const waits = new Waits(limits.timeout);
    try {
      const ready = this.ready.get(frame.component);
      if (!ready) throw new Error(`component ${frame.component} is not in the bundle`);
      if (ready.component.waits && !hasJspi()) throw new Fault("denied", "it waits for the host, which takes JavaScript Promise Integration: this browser has none");
      const called = frame.called === undefined ? undefined : ready.component.functions[frame.called];
      if (frame.called !== undefined && called === undefined) throw new Error(`its function ${frame.called} is not in the bundle`);
      if (called) {
        try {
          opened = this.walker.functions.FunctionCall.open(JSON.stringify(called.types), frame.params);
        } catch (error) {
          const refused = errorOf(error);
          if (typeof refused !== "string") throw error;
          return { ...outcomeOf(refused), fuel: 0n, late: false, waited: 0, output, journal };
        }
      }
      const grant = JSON.parse(frame.grant) as Grant;
      const counted = (meter = new Meter(limits.memory, ready.begins));
      const imports = this.imports(frame, grant, journal, output, waits, () => counted);
      const instance = await ready.instantiate(imports, counted);
      counted.begin(limit);
      const ended = { late: false, output, journal };
      if (called && opened) {
        const given = await callFunction(instance, called, opened.values(), limits.output);
        const fuel = counted.used(limit);
        return { ...outcomeOf(answerOf(opened, given, limits.output)), fuel, waited: waits.spent(), ...ended };
      }
      const outcome = await run(instance, frame.activation, frame.params, limits.output, (text) => this.walker.host.readJson(text));
      return { outcome, fuel: counted.used(limit), work: 0n, waited: waits.spent(), ...ended };
    } catch (error) {
      const failure = classify(error, { stop: meter?.stop.value ?? 0, wanted: meter?.fuel.value ?? 0n, pages: meter?.pages.value ?? 0n }, limits.memory);
      // Waiting takes time and no fuel, and an attempt that asks for more model budget is started again. Any other failure is charged in full.
      const late = error instanceof Fault && error.category === "timeout";
      const isKnown = late || (error instanceof Fault && error.isOfModels() && limits.model_asks === true);
      return { outcome: { failure }, fuel: isKnown && meter ? meter.used(limit) : limit, work: opened?.work() ?? 0n, late, waited: waits.spent(), output, journal };
    } finally {
      opened?.[DISPOSE]();
      output.finish();
    }
  }

  /** Returns all imports of components: those that are not granted were refused before. */
  private imports(frame: Frame, grant: Grant, journal: Journal, output: Output, waits: Waits, meter: () => Meter | undefined): Record<string, object> {
    const handles = new Handles();
    const asked = <T>(question: Question, late: string): Promise<T> => waits.until(this.ask(question) as Promise<T>, late);
    const sender = {
      send: (request: Parameters<Parameters<typeof http>[3]["send"]>[0], firstByte: number | undefined) =>
        asked<RequestTold>(
          { ask: "request", grant: frame.grant, request, most: frame.limits.response_body, firstByte },
          "it ran past its deadline while it waited for a server",
        ),
      warn: (message: string): void => output.hostLine("warn", message),
    };
    const asker = {
      send: (name: string, total: string, fields: [string, Uint8Array][], body: Uint8Array) =>
        asked<string>({ ask: "model", grant: frame.grant, model: name, total, fields, body, most: frame.limits.response_body }, LATE_MODEL),
      wait: (milliseconds: number): Promise<void> => waits.until(new Promise((resolve) => setTimeout(resolve, milliseconds)), LATE_MODEL),
      left: (): number => waits.left(),
      warn: sender.warn,
    };
    const caller = {
      depth: frame.depth,
      readJson: (text: string): string => this.walker.host.readJson(text),
      fuel: (): bigint => -(meter()?.fuel.value ?? 0n),
      setFuel: (fuel: bigint): void => {
        const counted = meter();
        if (counted) counted.fuel.value = -fuel;
      },
      call: (call: ToolCall): Promise<ToolReport> => this.callee(frame, call, waits, output.logs),
      addEvent: (event: { name: string; payload: string }): void => output.addEvent(event),
    };
    return {
      ...output.imports(),
      ...cli(output, handles),
      ...clocks(frame.clock),
      ...random(() => new this.walker.host.Random(frame.seed)),
      ...streams(),
      ...filesystem(grant.filesystem, this.files, journal, handles),
      ...http(frame.limits, journal, handles, sender),
      ...secrets(grant.secrets),
      ...knowledge(grant.knowledge ?? [], journal, (question: KnowledgeQuestion) =>
        asked<KnowledgeAnswer>(question, "it ran past its deadline while it waited for the project's knowledge"),
      ),
      ...tools(journal, caller),
      ...model(grant.models ?? [], frame.grant, this.walker, journal, asker),
    };
  }

  /** Performs a called component, within the rest of the caller's budget and grant. */
  private async callee(caller: Frame, { item, params, fuel, host: left, budget: shared, number }: ToolCall, waits: Waits, logs: LogLine[]): Promise<ToolReport> {
    const nothing = { fuel: 0n, host: NOTHING, events: [] };
    const depth = caller.depth + 1;
    const told = (await waits.until(this.ask({ ask: "tool", caller: caller.grant, item, depth }), lateCall().message)) as ToolTold;
    if ("failure" in told) return { result: told, ...nothing };
    const own = (JSON.parse(told.grant) as Grant).limits;
    const time = waits.left();
    const limits = {
      ...own,
      fuel: Math.min(own.fuel, Number(fuel)),
      timeout: Math.min(own.timeout, time),
      calls: Math.min(own.calls, left.calls),
      bytes: Math.min(own.bytes, left.bytes),
    };
    const activation = members(caller.activation);
    const key = JSON.parse(activation.get("idempotency_key") ?? '""') as string;
    const given = { ...Object.fromEntries(activation), answers: "[]", idempotency_key: JSON.stringify(`${key}/${number}`) };
    const seed = this.walker.host.callSeed(caller.seed, BigInt(number), item);
    const budget = shared.inside(members(told.grant).get("limits") ?? "{}");
    const ended = await this.perform({ component: told.component, called: told.called, activation: object(given), params, seed, clock: caller.clock, limits, grant: told.grant, budget, depth });
    const host = ended.journal.used();
    budget[DISPOSE]();
    waits.spend(ended.waited);
    logs.push(...ended.output.logs);
    // If both have the same deadline, the caller ends first.
    if (ended.late && time <= own.timeout) {
      shared.charge(host.model);
      throw lateCall(host.model);
    }
    // The caller pays for the host's work for the callee.
    const used = { fuel: ended.fuel + ended.work, host, events: ended.output.events };
    const refused = (what: string): ToolReport => ({ result: { failure: { category: "invalid-input", message: `\`${item}\` ${what}` } }, ...used });
    if ("interrupt" in ended.outcome) return refused("asks a question, which cannot be answered inside of a call");
    if ("command" in ended.outcome) return refused("routes the graph, which it cannot do inside of a call");
    return { result: "failure" in ended.outcome ? ended.outcome : { value: this.walker.digests.canonical(ended.outcome.result) }, ...used };
  }
}

/** Returns the report on the return value of a function. */
function answerOf(opened: FunctionCall, given: string, output: number): string {
  try {
    return opened.answer(given, BigInt(output));
  } catch (error) {
    throw new Error(words(error));
  }
}

function seedOf(digest: string): Uint8Array {
  const digits = digest.slice(digest.indexOf(":") + 1);
  return Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16));
}
