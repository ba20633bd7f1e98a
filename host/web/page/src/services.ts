// What components ask beyond their own call: requests with secrets, knowledge, other items. This worker holds the walker, which decides.

import type { Sending, Sent } from "./page_fetch";
import { asBytes, asText } from "./interfaces/fields";
import type { KnowledgeBase } from "./knowledge_base";
import { members } from "./json";
import type { Item } from "./performer";
import type { Grant, Question, RequestTold, ToolTold } from "./protocol";
import { problem, words, type Outgoing, type Run, type Walker } from "./walker";
import type { Category } from "./fault";

/** The task that a component performs or is part of. */
export interface Place {
  run: Run;
  task: string;
  /** The recorded time of its superstep. */
  clock: number;
}

/** Has the page send a request. */
export type Send = (sending: Sending, signal: AbortSignal) => Promise<Sent>;

export class Services {
  /** Values of secrets, by name. They are in this worker alone, and nowhere when the page is closed. */
  private readonly secrets = new Map<string, string>();
  private readonly outgoing = new Map<string, Outgoing>();

  constructor(
    private readonly walker: Walker,
    private readonly items: Map<string, Item>,
    private readonly knowledge: KnowledgeBase,
    private readonly send: Send,
  ) {}

  /** Takes the value of a secret. */
  setSecret(name: string, value: string): void {
    if (value === "") this.secrets.delete(name);
    else this.secrets.set(name, value);
    this.outgoing.clear();
  }

  /** Why a run with these grants cannot begin; nothing if it can. */
  refusal(grants: string[]): string | undefined {
    for (const grant of grants) {
      const missing = ((JSON.parse(grant) as Grant).secrets ?? []).find(({ name }) => !this.secrets.has(name));
      if (missing) return `enter the value of the secret \`${missing.name}\` first`;
      try {
        this.opened(grant);
      } catch (error) {
        return String((error as { payload?: unknown }).payload ?? words(error));
      }
    }
    return undefined;
  }

  private opened(grant: string): Outgoing {
    const known = this.outgoing.get(grant);
    if (known) return known;
    const opened = this.walker.host.Outgoing.open(grant, [...this.secrets]);
    this.outgoing.set(grant, opened);
    return opened;
  }

  answer(place: Place, question: Question, signal: AbortSignal): Promise<unknown> {
    switch (question.ask) {
      case "knowledge":
        return this.knowledge.answer(question);
      case "request":
        return this.request(question, signal);
      case "tool":
        return Promise.resolve(this.tool(place, question));
    }
  }

  private async request({ grant, request, most, firstByte }: Question & { ask: "request" }, signal: AbortSignal): Promise<RequestTold> {
    const { scheme, host, port, method, path } = request;
    const refused = (error: string, thrown: unknown): RequestTold => ({
      problem: { error, message: String((thrown as { payload?: unknown }).payload ?? words(thrown)) },
    });
    const outgoing = this.opened(grant);
    let fields: [string, Uint8Array][];
    try {
      fields = outgoing.prepare(scheme, host, port, method, request.fields);
    } catch (error) {
      return refused("HTTP-request-denied", error);
    }
    const url = `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}${path}`;
    const named = fields.map(([name, value]): [string, string] => [name, asText(value)]);
    const sent = await this.send({ url, method, fields: named, body: new Uint8Array(request.body), most, within: firstByte }, signal);
    if ("error" in sent) return { problem: sent };
    const received = sent.fields.map(([name, value]): [string, Uint8Array] => [name, asBytes(value)]);
    try {
      const [cleaned, body] = outgoing.receive(host, sent.status, received, sent.body);
      return { response: { status: sent.status, fields: cleaned, body } };
    } catch (error) {
      return refused("HTTP-response-content-coding", error);
    }
  }

  /** The component of an item that a component calls, as far as the manifest, the node and the caller's grant permit. */
  private tool({ run, task, clock }: Place, { caller, item: id, depth }: Question & { ask: "tool" }): ToolTold {
    const refused = (category: Category, message: string): ToolTold => ({ failure: { category, message } });
    try {
      run.checkCall(task, id, depth);
    } catch (error) {
      const found = problem(error);
      if (!found) throw error;
      return refused(found.code as Category, found.message);
    }
    const item = this.items.get(id);
    if (!item) return refused("permanent", `\`${id}\` is not in the bundle`);
    try {
      const grant = members(run.grantCall(task, item.verified, caller)).get("grant") ?? "{}";
      if (item.notAfter !== undefined && item.notAfter <= clock) item.again(BigInt(clock));
      return { component: item.bundled.digest, grant };
    } catch (error) {
      return refused("denied", (problem(error)?.message ?? words(error)).split("\n").join("; "));
    }
  }
}
