// Services for components beyond their own call: requests with secrets, knowledge, other items. This worker has the walker, which decides.

import type { PreparedRequest, RequestOutcome } from "./page_fetch";
import { asBytes, asText } from "./interfaces/fields";
import type { KnowledgeBase } from "./knowledge_base";
import { members } from "./json";
import type { Item } from "./performer";
import type { Grant, GrantedModel, Question, RequestTold, ToolTold } from "./protocol";
import { problem, words, type Outgoing, type Provider, type Run, type Walker } from "./walker";
import type { Category } from "./fault";

/** The task that a component performs or is part of. */
export interface Place {
  run: Run;
  task: string;
  /** Recorded time of its superstep. */
  clock: number;
  /** Stores the model reservation of the attempt. */
  reserve: Reserve;
}

/** Stores the model reservation of an attempt, a JSON text, and waits for it. */
export type Reserve = (model: string, name: string) => Promise<void>;

/** Sends a request through the page. */
export type Send = (sending: PreparedRequest, signal: AbortSignal) => Promise<RequestOutcome>;

/** Returns the name under which the key of a model is entered. No secret of a manifest can have such a name. */
export const keyOf = ({ name }: GrantedModel): string => `model:${name}`;

/** Extra fields by API: without this one, Anthropic's servers do not permit pages (CORS). */
const OF_PAGES: Record<string, [string, string][]> = { anthropic: [["anthropic-dangerous-direct-browser-access", "true"]] };

/** Returns the message of a function of the walker that refused. */
const refusedWith = (error: unknown): string => String((error as { payload?: unknown }).payload ?? words(error));

export class Services {
  /** Values of secrets and keys of models, by name. They exist only in the memory of this worker. */
  private readonly secrets = new Map<string, string>();
  private readonly outgoing = new Map<string, Outgoing>();
  /** Providers, by the grant and the name of the model. */
  private readonly providers = new Map<string, Provider>();

  constructor(
    private readonly walker: Walker,
    private readonly items: Map<string, Item>,
    private readonly knowledge: KnowledgeBase,
    private readonly send: Send,
  ) {}

  /** Sets the value of a secret, or the key of a model. */
  setSecret(name: string, value: string): void {
    if (value === "") this.secrets.delete(name);
    else this.secrets.set(name, value);
    this.outgoing.clear();
    this.providers.clear();
  }

  /** Returns the reason why a run with these grants cannot start; `undefined` if it can. */
  refusal(grants: string[]): string | undefined {
    for (const grant of grants) {
      const { secrets = [], models = [] } = JSON.parse(grant) as Grant;
      const missing = secrets.find(({ name }) => !this.secrets.has(name));
      if (missing) return `enter the value of the secret \`${missing.name}\` first`;
      const locked = models.find((model) => model.secret !== undefined && !this.secrets.has(keyOf(model)));
      if (locked) return `enter the key of the model \`${locked.name}\` first`;
      try {
        this.opened(grant);
        for (const model of models) this.provider(grant, model);
      } catch (error) {
        return refusedWith(error);
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

  private provider(grant: string, model: GrantedModel): Provider {
    const at = `${model.name} ${grant}`;
    const known = this.providers.get(at);
    if (known) return known;
    const opened = this.walker.models.Provider.open(grant, model.name, this.secrets.get(keyOf(model)));
    this.providers.set(at, opened);
    return opened;
  }

  answer(place: Place, question: Question, signal: AbortSignal): Promise<unknown> {
    switch (question.ask) {
      case "knowledge":
        return this.knowledge.answer(question);
      case "request":
        return this.request(question, signal);
      case "model":
        return this.model(place, question, signal);
      case "tool":
        return Promise.resolve(this.tool(place, question));
    }
  }

  private async request({ grant, request, most, firstByte }: Question & { ask: "request" }, signal: AbortSignal): Promise<RequestTold> {
    const { scheme, host, port, method, path } = request;
    const refused = (error: string, thrown: unknown): RequestTold => ({
      problem: { error, message: refusedWith(thrown) },
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

  /** Sends a request to a model; returns its outcome, without the key, for the walker of the component. */
  private async model(place: Place, { grant, model: name, total, fields, body, most }: Question & { ask: "model" }, signal: AbortSignal): Promise<string> {
    const granted = (JSON.parse(grant) as Grant).models?.find((model) => model.name === name);
    if (!granted) throw new Error(`the model \`${name}\` is not granted`);
    const provider = this.provider(grant, granted);
    let prepared: ReturnType<Provider["prepare"]>;
    try {
      prepared = provider.prepare(fields);
    } catch (error) {
      return provider.failed("HTTP-request-denied", refusedWith(error), false);
    }
    await place.reserve(total, name);
    // The call may have ended meanwhile; its reservation is already charged.
    signal.throwIfAborted();
    const named = prepared.fields.map(([field, value]): [string, string] => [field, asText(value)]);
    const sending = { url: prepared.url, method: "POST", fields: [...named, ...(OF_PAGES[granted.api] ?? [])], body: new Uint8Array(body), most };
    const sent = await this.send({ ...sending, within: Math.min(Number(prepared.timeout), Number.MAX_SAFE_INTEGER) }, signal);
    // A browser does not tell whether a request without a response was sent: it may have been, unless the page denied it.
    if ("error" in sent) return provider.failed(sent.error, sent.message, sent.error !== "HTTP-request-denied");
    // A retry time in an answer counts from the date of the answer, which some servers hide from pages.
    const dated = sent.fields.some(([field]) => field === "date");
    const answered: typeof sent.fields = dated ? sent.fields : [...sent.fields, ["date", new Date().toUTCString()]];
    const received = answered.map(([field, value]): [string, Uint8Array] => [field, asBytes(value)]);
    return provider.read(sent.status, received, sent.body, BigInt(Math.min(most, Number.MAX_SAFE_INTEGER)));
  }

  /** Returns the component of a called item, if the manifest, the node and the caller's grant permit the call. */
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
      return { component: item.bundled.digest, called: item.called, grant };
    } catch (error) {
      return refused("denied", (problem(error)?.message ?? words(error)).split("\n").join("; "));
    }
  }
}
