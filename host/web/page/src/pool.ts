// Pool of the workers that call components, with a queue of calls.

import { confinedWorker } from "./confined";
import { object } from "./json";
import type { CallAnswer, CallQuestion, Call, CallDone, Question, Setup, ModelSpent } from "./protocol";
import { words } from "./walker";

/** Factor of its timeout that a call may take: its fuel ends it on slow machines, and its waits have the timeout itself as limit. */
const PATIENCE = 10;

/** Answers a question of a call. The signal aborts if the answer is no longer needed. */
export type QuestionHandler = (question: Question, signal: AbortSignal) => Promise<unknown>;

interface WaitingCall {
  call: Call;
  answering: QuestionHandler;
  done: (done: CallDone) => void;
}

/** In the place of a call's id: the slot waits for its new worker. */
const REPLACED = -1;

interface Slot {
  worker: Worker;
  id?: number;
  /** Ends its call if the worker does not return. */
  timer?: ReturnType<typeof setTimeout>;
  /** Aborts the questions of its call. */
  asking?: AbortController;
  /** Grants of its call and of the components that it has called: no other grant may be in a question. */
  grants: Set<string>;
  /** Calls of models that its call has made, as entries of a journal; its report has them, too. */
  spent: string[];
}

export class Pool {
  private readonly slots: Slot[] = [];
  private readonly waiting: WaitingCall[] = [];

  private constructor(
    private readonly setup: Setup,
    private readonly script: string,
  ) {}

  /** `script` is the text of `worker.js`. */
  static async of(setup: Setup, script: string, size: number): Promise<Pool> {
    const pool = new Pool(setup, script);
    const workers = await Promise.all(Array.from({ length: size }, () => pool.begin()));
    pool.slots.push(...workers.map((worker) => ({ worker, spent: [], grants: new Set<string>() })));
    return pool;
  }

  private begin(): Promise<Worker> {
    const worker = confinedWorker(this.script);
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<{ ready?: true; error?: string }>) => {
        if (data.ready) resolve(worker);
        else reject(new Error(data.error));
      };
      worker.onerror = () => reject(new Error("a worker could not be started"));
      worker.postMessage({ role: "executor", setup: this.setup });
    });
  }

  /** Performs a call, as soon as a worker is free. */
  call(call: Call, answering: QuestionHandler): Promise<CallDone> {
    return new Promise((done) => {
      this.waiting.push({ call, answering, done });
      this.advance();
    });
  }

  /** Abandons a call: its result is ignored. */
  abort(id: number): void {
    const at = this.waiting.findIndex(({ call }) => call.id === id);
    if (at >= 0) this.waiting.splice(at, 1);
    const slot = this.slots.find((one) => one.id === id);
    if (slot) void this.replace(slot);
  }

  private advance(): void {
    // No worker could be started in the place of the last one.
    if (this.slots.length === 0) {
      for (const { call, done } of this.waiting.splice(0)) done(brokenDown(call, "a worker could not be started", []));
    }
    for (const slot of this.slots) {
      if (slot.id !== undefined) continue;
      const next = this.waiting.shift();
      if (!next) return;
      const { call, answering, done } = next;
      const { worker } = slot;
      const asking = new AbortController();
      slot.id = call.id;
      slot.asking = asking;
      slot.spent = [];
      slot.grants = new Set([call.grant]);
      slot.timer = setTimeout(() => {
        done(late(call, slot.spent));
        void this.replace(slot);
      }, call.limits.timeout * PATIENCE);
      const ended = (result: CallDone): void => {
        asking.abort();
        if (slot.id !== call.id) return;
        clearTimeout(slot.timer);
        delete slot.id;
        done(result);
        this.advance();
      };
      const answer = async ({ asked, question }: CallQuestion): Promise<void> => {
        let told: unknown;
        try {
          checkGrant(question, slot.grants);
          told = await answering(question, asking.signal);
          if (question.ask === "tool") slot.grants.add((told as { grant?: string }).grant ?? call.grant);
        } catch (error) {
          if (asking.signal.aborted) return;
          done(brokenDown(call, words(error), slot.spent));
          return this.replace(slot);
        }
        if (!asking.signal.aborted) worker.postMessage({ answered: asked, told } satisfies CallAnswer);
      };
      worker.onmessage = ({ data }: MessageEvent<CallDone | CallQuestion | ModelSpent>) => {
        if ("asked" in data) void answer(data);
        else if ("spent" in data) slot.spent.push(data.spent);
        else ended(data);
      };
      worker.onerror = (event) => {
        ended(brokenDown(call, event.message, slot.spent));
      };
      worker.postMessage(call);
    }
  }

  /** Terminates a worker that does not return, and starts another one in its place. */
  private async replace(slot: Slot): Promise<void> {
    if (slot.id === REPLACED) return;
    clearTimeout(slot.timer);
    slot.asking?.abort();
    slot.worker.terminate();
    slot.id = REPLACED;
    try {
      slot.worker = await this.begin();
      delete slot.id;
    } catch {
      this.slots.splice(this.slots.indexOf(slot), 1);
    }
    this.advance();
  }
}

/** Rejects a question with a grant that the call does not have. */
function checkGrant(question: Question, grants: Set<string>): void {
  if (question.ask === "knowledge") return;
  const grant = question.ask === "tool" ? question.caller : question.grant;
  if (!grants.has(grant)) throw new Error("it asked with a grant that it was not given");
}

function failed(call: Call, category: string, message: string, fuel: number, entries: string[]): CallDone {
  const failure = JSON.stringify({ category, message });
  return { id: call.id, logs: [], report: object({ failure, fuel: String(fuel), journal: `[${entries.join(",")}]` }) };
}

/** Returns the failure of a call that the host could not perform. */
function brokenDown(call: Call, why: string, spent: string[]): CallDone {
  return failed(call, "internal", `the host broke down while it performed this task: ${why}`, 0, spent);
}

/** Returns the failure of a call that does not return. Its model use counts; the rest of its journal is not known. */
function late(call: Call, spent: string[]): CallDone {
  const message = `it did not answer within ${call.limits.timeout} ms`;
  const result = { fault: { category: "timeout", message } };
  const entry = { function: "deadline", interface: "graph-host:host", ok: false, request: null, result };
  return failed(call, "timeout", message, call.limits.fuel, [...spent, JSON.stringify(entry)]);
}
