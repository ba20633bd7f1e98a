// Performs tasks with components, as `host/runtime/src/executor` does in the native host.

import type { BundledComponent } from "./bundle";
import { members, object } from "./json";
import type { Pool } from "./pool";
import type { Call, Grant, Limits, LogLine } from "./protocol";
import type { PlayedCall } from "./replay";
import type { Reserve, Services } from "./services";
import { problem, words, type Run, type VerifiedComponent } from "./walker";

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

  /** Performs an attempt; returns its report, `undefined` if it was abandoned. In a replay, its journal answers its calls. */
  async perform(
    run: Run,
    effect: Map<string, string>,
    activation: Map<string, string>,
    name: string,
    { played, reserve = async () => undefined }: { played?: PlayedCall; reserve?: Reserve } = {},
  ): Promise<string | undefined> {
    const value = <T>(field: string): T => JSON.parse(effect.get(field) ?? "null") as T;
    const id = value<string>("item_id");
    if (value("primary") !== "execute" || value("item_type") !== "tool") {
      return refused("denied", `a page does not \`${value("primary")}\` items of the type \`${value("item_type")}\``);
    }
    const item = this.items.get(id);
    if (!item) return refused("permanent", `\`${id}\` is not in the bundle`);
    let granted: TaskGrant;
    try {
      if (item.notAfter !== undefined && item.notAfter <= value<number>("clock")) item.again(BigInt(value<number>("clock")));
      granted = this.grant(run, effect, activation, id, item);
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
    const place = { run, task: JSON.parse(activation.get("task") ?? "null") as string, clock: value<number>("clock"), reserve };
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
      if (!this.services) throw new Error("a replay asks nobody");
      return this.services.answer(place, question, signal);
    });
    if (this.underWay.get(name) !== call) return undefined;
    this.underWay.delete(name);
    if (played && done.difference !== undefined) played.difference = done.difference;
    for (const line of done.logs) this.logged(value<string | null>("node") ?? id, line);
    return done.report;
  }

  /** Returns the grant of the item at a node. It is the same for every task of the node. */
  private grant(run: Run, effect: Map<string, string>, activation: Map<string, string>, id: string, item: Item): TaskGrant {
    const place = `${effect.get("graph_digest")} ${effect.get("node")} ${effect.get("narrowing")} ${id}`;
    const known = this.given.get(place);
    if (known) return known;
    const text = members(run.grant(JSON.parse(activation.get("task") ?? "null") as string, item.verified)).get("grant") ?? "{}";
    const granted = { text, limits: (JSON.parse(text) as Grant).limits, limitsText: members(text).get("limits") ?? "{}" };
    this.given.set(place, granted);
    return granted;
  }
}
