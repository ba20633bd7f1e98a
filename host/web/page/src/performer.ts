// Performs tasks with components, as `host/runtime/src/executor` does in the native host.

import type { BundledComponent } from "./bundle";
import { members, object, string } from "./json";
import type { Pool } from "./pool";
import type { Call, Grant, Limits, LogLine } from "./protocol";
import type { PlayedCall } from "./replay";
import type { Reserve, Services } from "./services";
import { problem, words, type Attempts, type Replay, type Run, type VerifiedComponent } from "./walker";

export interface Item {
  bundled: BundledComponent;
  verified: VerifiedComponent;
  /** Function of the component that is called. */
  called?: string;
  /** Time after which its signature is no longer valid, in milliseconds; `undefined` if it does not expire. */
  notAfter: number | undefined;
  /** Verifies the component again for the recorded time of a superstep. */
  again(recorded: bigint): void;
}

/** What an attempt belongs to: a run, or a replay, whose journal answers its calls. */
export type Source = { run: Run; reserve: Reserve } | { replay: Replay; played: PlayedCall };

/** A grant as a JSON text, with its limits as a JSON text and parsed. */
interface TaskGrant {
  text: string;
  limitsText: string;
  limits: Limits;
}

const refused = (category: string, message: string): string => object({ failure: JSON.stringify({ category, message }), fuel: "0" });

export class Performer {
  private next = 0;
  private readonly underWay = new Map<string, number>();
  private readonly given = new Map<string, TaskGrant>();

  constructor(
    private readonly pool: Pool,
    private readonly items: Map<string, Item>,
    private readonly logged: (node: string, line: LogLine) => void,
    /** Services for components beyond their own call; none in a replay. */
    private readonly services?: Services,
  ) {}

  /** Abandons an attempt. */
  abort(name: string): void {
    const id = this.underWay.get(name);
    this.underWay.delete(name);
    if (id !== undefined) this.pool.abort(id);
  }

  /** Finds the item that performs an attempt; returns the report of a refusal if there is none, or if its signature has expired. */
  private itemOf(effect: Map<string, string>): Item | string {
    const [primary, type, id] = [string(effect.get("primary")), string(effect.get("item_type")), string(effect.get("item_id"))];
    if (primary !== "execute" || type !== "tool") return refused("denied", `a page does not \`${primary}\` items of the type \`${type}\``);
    const item = this.items.get(id);
    if (!item) return refused("permanent", `\`${id}\` is not in the bundle`);
    const clock = Number(effect.get("clock"));
    try {
      if (item.notAfter !== undefined && item.notAfter <= clock) item.again(BigInt(clock));
    } catch (error) {
      return refused("denied", problem(error)?.message ?? words(error));
    }
    return item;
  }

  /** Returns the component that would perform an attempt; `undefined` if there is none. */
  performerOf(effect: Map<string, string>): VerifiedComponent | undefined {
    const item = this.itemOf(effect);
    return typeof item === "string" ? undefined : item.verified;
  }

  /** Performs an attempt; returns its report, `undefined` if it was abandoned. */
  async perform(effect: Map<string, string>, activation: Map<string, string>, name: string, source: Source): Promise<string | undefined> {
    const value = <T>(field: string): T => JSON.parse(effect.get(field) ?? "null") as T;
    const id = value<string>("item_id");
    const item = this.itemOf(effect);
    if (typeof item === "string") return item;
    let granted: TaskGrant;
    try {
      granted = this.grant("run" in source ? source.run : source.replay, effect, activation, id, item);
    } catch (error) {
      return refused("denied", problem(error)?.message ?? words(error));
    }
    const own = value<Limits>("limits");
    const theirs = granted.limits;
    const smaller = Object.entries(own).flatMap(([of, limit]) => (typeof limit === "number" ? [[of, Math.min(limit, theirs[of as keyof Limits] as number)]] : []));
    const asks = own.model_asks === true || theirs.model_asks === true;
    const limits = { ...Object.fromEntries(smaller), model_asks: asks } as unknown as Limits;
    this.next += 1;
    const call = this.next;
    this.underWay.set(name, call);
    const place = { task: string(activation.get("task")), clock: value<number>("clock") };
    const played = "played" in source ? source.played : undefined;
    const given: Call = {
      id: call,
      component: item.bundled.digest,
      called: item.called,
      activation: effect.get("activation") ?? "{}",
      params: effect.get("params") ?? "null",
      seed: value("seed"),
      clock: value("clock"),
      limits,
      budgets: [effect.get("limits") ?? "{}", granted.limitsText],
      grant: granted.text,
      ...(played && { played: played.entries }),
    };
    const done = await this.pool.call(given, (question, signal) => {
      if (!this.services || !("run" in source)) throw new Error("a replay asks nobody");
      return this.services.answer({ ...place, ...source }, question, signal);
    });
    if (this.underWay.get(name) !== call) return undefined;
    this.underWay.delete(name);
    if (played && done.difference !== undefined) played.difference = done.difference;
    for (const line of done.logs) this.logged(value<string | null>("node") ?? id, line);
    return done.report;
  }

  /** Returns the grant of the item at a node. It is the same for every task of the node. */
  private grant(attempts: Attempts, effect: Map<string, string>, activation: Map<string, string>, id: string, item: Item): TaskGrant {
    const place = `${effect.get("graph_digest")} ${effect.get("node")} ${effect.get("narrowing")} ${id}`;
    const known = this.given.get(place);
    if (known) return known;
    const text = members(attempts.grant(string(activation.get("task")), item.verified)).get("grant") ?? "{}";
    const granted = { text, limits: (JSON.parse(text) as Grant).limits, limitsText: members(text).get("limits") ?? "{}" };
    this.given.set(place, granted);
    return granted;
  }
}
