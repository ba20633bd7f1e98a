// A worker that calls components: every call in a fresh instance, metered by the instance itself. As `host/engine/src/call.rs`.

import { classify, type Failure } from "./fault";
import { Files, filesystem } from "./interfaces/filesystem";
import { Output } from "./interfaces/output";
import { clocks, random } from "./interfaces/world";
import { deadlineOf, Journal } from "./journal";
import { elements, escape, members, object } from "./json";
import type { Call, Done, LoadedComponent, Setup } from "./protocol";
import { errorOf, load, type Walker } from "./walker";

const PAGE = 65536;
/** The longest failure message that is kept, in bytes. */
const MAX_MESSAGE = 8 << 10;

interface Instance {
  "graph-host:node/action@0.1.0": { run(activation: object, params: string): Outcome };
}

/** The globals that all core modules of a component count with: `host/docs/design/fuel.md`. */
interface Meter {
  fuel: WebAssembly.Global<"i64">;
  pages: WebAssembly.Global<"i64">;
  stop: WebAssembly.Global<"i32">;
}

interface Outcome {
  tag: "result" | "interrupt" | "command";
  val: string | { update: string; goto: { node: string; argument?: string }[] };
}

interface Ready {
  component: LoadedComponent;
  instantiate: (imports: object, seen: (core: WebAssembly.Exports) => void) => Promise<Instance>;
}

const length = (text: string): number => new TextEncoder().encode(text).length;
const failed = ({ category, message, details }: Failure): string =>
  object({ category: JSON.stringify(category), message: JSON.stringify(message), details });

export class Executor {
  private constructor(
    private readonly walker: Walker,
    private readonly ready: Map<string, Ready>,
    private readonly files: Files,
  ) {}

  static async of(setup: Setup): Promise<Executor> {
    const walker = await (await load<Walker>(setup.walker.url, setup.walker.cores))({});
    const ready = new Map<string, Ready>();
    for (const component of setup.components) {
      ready.set(component.digest, { component, instantiate: await load<Instance>(component.url, component.cores) });
    }
    return new Executor(walker, ready, new Files(setup.files, setup.empty));
  }

  async call(call: Call): Promise<Done> {
    const deadline = call.played && deadlineOf(call.played);
    if (deadline) return { id: call.id, logs: [], report: object({ failure: failed(deadline), fuel: String(call.limits.fuel) }) };
    const journal = new Journal(call.limits, (bytes) => this.walker.digests.ofBytes(bytes), call.played);
    const output = new Output(call.limits.log, (text) => this.walker.host.readJson(text));
    const limit = BigInt(call.limits.fuel);
    let fuel = limit;
    let answer: { outcome?: string; failure?: string };
    let meter: Meter | undefined;
    try {
      const ready = this.ready.get(call.component);
      if (!ready) throw new Error(`component ${call.component} is not in the bundle`);
      const imports: Record<string, object> = {
        ...output.imports(),
        ...clocks(call.clock),
        ...random(() => new this.walker.host.Random(seedOf(call.seed))),
        ...filesystem(call.mounts, this.files, journal),
      };
      // By the core module itself: no function of a component can be called any more once it has trapped.
      const instance = await ready.instantiate(imports, (core) => {
        if ("graph-host-meter-stop" in core) meter = core as unknown as Meter;
      });
      if (meter === undefined) throw new Error(`component ${call.component} counts no fuel`);
      const pages = Math.floor(call.limits.memory / PAGE) - ready.component.pages;
      meter.fuel.value = -limit;
      meter.pages.value = BigInt(Math.max(pages, 0));
      meter.stop.value = 0;
      const outcome = this.run(instance, call);
      const used = limit + meter.fuel.value;
      fuel = used > limit ? limit : used;
      answer = outcome;
    } catch (error) {
      answer = { failure: failed(classify(error, meter?.stop.value ?? 0, call.limits.memory)) };
    }
    journal.finish();
    if (journal.difference !== undefined) answer = { failure: failed({ category: "internal", message: journal.difference }) };
    const report = object({
      ...answer,
      fuel: String(fuel),
      events: `[${output.events.join(",")}]`,
      journal: JSON.stringify(call.played ?? journal.entries),
    });
    return { id: call.id, report, logs: output.logs, ...(journal.difference === undefined ? {} : { difference: journal.difference }) };
  }

  /** Calls `run`, and reads what it answered: strict JSON, within the output limit. */
  private run(instance: Instance, call: Call): { outcome: string } | { failure: string } {
    let returned: Outcome;
    let failure: { category: string; message: string; details?: string } | undefined;
    try {
      returned = instance["graph-host:node/action@0.1.0"].run(activationOf(call.activation), call.params);
    } catch (error) {
      failure = errorOf(error) as typeof failure;
      if (failure === undefined) throw error;
    }
    let left = call.limits.output;
    const spend = (bytes: number): void => {
      left -= bytes;
      if (left < 0) throw { category: "limit", message: `what it answered has more than ${call.limits.output} bytes` } satisfies Failure;
    };
    const json = (text: string, what: string): string => {
      spend(length(text));
      try {
        return this.walker.host.readJson(text);
      } catch (error) {
        const reason = String(errorOf(error) ?? error);
        throw { category: "internal", message: `${what} is not valid JSON: ${reason}` } satisfies Failure;
      }
    };
    try {
      if (failure) {
        const details = failure.details === undefined ? undefined : json(failure.details, "the details of its failure");
        const category = failure.category as Failure["category"];
        return { failure: failed({ category, message: shortened(failure.message), ...(details === undefined ? {} : { details }) }) };
      }
      const { tag, val } = returned!;
      if (typeof val === "string") {
        return { outcome: object({ [tag]: json(val, tag === "result" ? "its result" : "its question") }) };
      }
      const update = json(val.update, "the update of its command");
      if (!update.startsWith("{")) throw { category: "internal", message: "the update of its command is not a JSON object" } satisfies Failure;
      const goto = val.goto.map(({ node, argument }) => {
        spend(length(node) + 1);
        const given = argument === undefined ? undefined : json(argument, "an argument in its command");
        return object({ node: JSON.stringify(node), argument: given });
      });
      return { outcome: object({ command: object({ update, goto: `[${goto.join(",")}]` }) }) };
    } catch (refused) {
      return { failure: failed(refused as Failure) };
    }
  }
}

/** A failure message, escaped, and not longer than is kept. */
function shortened(message: string): string {
  const bytes = new TextEncoder().encode(message);
  if (bytes.length <= MAX_MESSAGE) return escape(message);
  let end = MAX_MESSAGE;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${escape(new TextDecoder().decode(bytes.subarray(0, end)))}…`;
}

function seedOf(digest: string): Uint8Array {
  const digits = digest.slice(digest.indexOf(":") + 1);
  return Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16));
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
