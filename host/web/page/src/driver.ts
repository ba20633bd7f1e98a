// Performs the walker's effects and reports their outcomes as events. It makes no decisions about the run. As `host/driver`.

import { elements, members, object } from "./json";
import type { Performer } from "./performer";
import { StorageFull, type PersistedRecord, type Store } from "./store";
import { problem, type Run } from "./walker";

/** Milliseconds after which the event loop of the worker gets a turn, so that messages of the page are handled. */
const TURN = 20;

export interface Observer {
  notice(text: string): void;
  checkpoint(line: Checkpoint): void;
}

/** A persisted checkpoint. */
export interface Checkpoint {
  namespace: string;
  sequence: string;
  step: string;
  digest: string;
  result: string;
  fuel: string;
}

export class Driver {
  private readonly events: string[] = [];
  /** Attempts that wait until their model reservation is stored. */
  private readonly reserving = new Map<string, () => void>();
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  private wake: (() => void) | undefined;
  private stopped: string | undefined;

  constructor(
    readonly run: Run,
    private readonly id: string,
    private readonly store: Store,
    private readonly performer: Performer,
    private readonly observer: Observer,
  ) {}

  /** Queues an event before all others. */
  dispatchFirst(event: string): void {
    this.events.unshift(event);
    this.wake?.();
  }

  private dispatch(event: string): void {
    this.events.push(event);
    this.wake?.();
  }

  /** Handles an event, then all others until the run stops; returns its status. */
  async drive(first: string): Promise<string> {
    this.stopped = undefined;
    await this.handle(first);
    let since = performance.now();
    while (this.stopped === undefined) {
      const event = this.events.shift();
      if (event === undefined) {
        await new Promise<void>((resolve) => (this.wake = resolve));
        this.wake = undefined;
        continue;
      }
      try {
        await this.handle(event);
      } catch (error) {
        // The walker refuses late events, such as that of a timer that fires as its task ends.
        const refused = problem(error);
        if (!refused || refused.code === "illegal_event" || refused.code === "invalid_json") throw error;
      }
      if (performance.now() - since > TURN) {
        await new Promise((resolve) => setTimeout(resolve));
        since = performance.now();
      }
    }
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    return this.stopped;
  }

  private async handle(event: string): Promise<void> {
    const effects = this.run.handle(BigInt(Date.now()), event);
    const persisted: { id: string; kept: PersistedRecord }[] = [];
    let more = false;
    for (const text of elements(effects)) {
      const effect = members(text);
      switch (JSON.parse(effect.get("effect") ?? "null")) {
        case "run_task":
          void this.perform(effect, false);
          break;
        case "run_hook":
          void this.perform(effect, true);
          break;
        case "look_up": {
          const activation = members(effect.get("activation") ?? "{}");
          this.dispatch(object({ event: '"looked_up"', task: activation.get("task"), attempt: activation.get("attempt") }));
          break;
        }
        case "model_recorded": {
          const name = `${effect.get("task")} ${effect.get("attempt")}`;
          this.reserving.get(name)?.();
          this.reserving.delete(name);
          break;
        }
        case "abort": {
          const name = `${effect.get("task")} ${effect.get("attempt")}`;
          this.reserving.delete(name);
          this.performer.abort(name);
          break;
        }
        case "abort_hook":
          this.performer.abort(`${effect.get("hook")} 1`);
          break;
        case "persist":
          persisted.push(this.persist(effect));
          break;
        case "set_timer":
          this.timer(effect.get("timer") ?? "null", Number(effect.get("at")));
          break;
        case "emit":
          this.observer.notice(effect.get("notice") ?? "null");
          break;
        case "continue":
          more = true;
          break;
        case "suspend":
        case "finish":
          this.stopped = JSON.parse(effect.get("status") ?? "null") as string;
          break;
        default:
          throw new Error(`the walker asked for an effect that this page does not know: ${effect.get("effect")}`);
      }
    }
    if (persisted.length > 0) await this.keep(persisted);
    if (more) this.dispatch('{"event":"continued"}');
  }

  private async perform(effect: Map<string, string>, hook: boolean): Promise<void> {
    const activation = members(effect.get("activation") ?? "{}");
    const attempt = activation.get("attempt") ?? "1";
    const name = `${activation.get("task")} ${attempt}`;
    const reserve = (model: string, asked: string): Promise<void> =>
      new Promise((resolve) => {
        this.reserving.set(name, resolve);
        const task = activation.get("task");
        this.dispatch(object({ event: '"model_reserved"', task, attempt, model, name: JSON.stringify(asked) }));
      });
    const report = await this.performer.perform(effect, activation, name, { run: this.run, reserve });
    this.reserving.delete(name);
    if (report === undefined) return;
    this.dispatch(
      hook
        ? object({ event: '"hook_done"', hook: activation.get("task"), report })
        : object({ event: '"task_done"', task: activation.get("task"), attempt, report }),
    );
  }

  private persist(effect: Map<string, string>): { id: string; kept: PersistedRecord } {
    const record = effect.get("record") ?? "{}";
    const text = effect.get("text");
    const kept: PersistedRecord = text === undefined ? { record } : { record, text };
    const id = effect.get("id") ?? "0";
    const fields = members(record);
    if (fields.get("kind") !== '"checkpoint"') return { id, kept };
    const string = (of: string | undefined): string => JSON.parse(of ?? '""') as string;
    const checkpoint = {
      namespace: string(fields.get("namespace")),
      sequence: fields.get("sequence") ?? "",
      step: fields.get("step") ?? "",
      digest: string(fields.get("digest")),
      result: string(effect.get("result_digest")),
      fuel: effect.get("fuel") ?? "",
    };
    return { id, kept: { ...kept, checkpoint } };
  }

  private async keep(persisted: { id: string; kept: PersistedRecord }[]): Promise<void> {
    try {
      await this.store.add(this.id, persisted.map(({ kept }) => kept));
    } catch (error) {
      if (!(error instanceof StorageFull) && !(error instanceof DOMException)) throw error;
      for (const { id } of persisted) this.dispatch(object({ event: '"persist_failed"', id, message: JSON.stringify(error.message) }));
      return;
    }
    for (const { id, kept } of persisted) {
      if (kept.checkpoint) this.observer.checkpoint(kept.checkpoint);
      this.dispatch(object({ event: '"persisted"', id }));
    }
  }

  private timer(timer: string, at: number): void {
    clearTimeout(this.timers.get(timer));
    const fire = (): void => {
      // A timer of a browser waits at most 24 days.
      const left = at - Date.now();
      if (left > 0) this.timers.set(timer, setTimeout(fire, Math.min(left, 2 ** 31 - 1)));
      else {
        this.timers.delete(timer);
        this.dispatch(object({ event: '"timer_fired"', timer }));
      }
    };
    fire();
  }
}
