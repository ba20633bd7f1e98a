// Performs the steps of a replay. The walker decides and compares; components are executed against their journals. As
// `host/runtime/src/replay`.

import { elements, members, string } from "./json";
import type { Replay, VerifiedComponent } from "./walker";

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

/** A call of a component that its journal answers. */
export interface PlayedCall {
  /** Entries of the journal, as JSON texts. */
  entries: string[];
  /** Difference of the call from its journal. */
  difference?: string;
}

/** The result of a replay. */
export interface ReplayResult {
  attempts: number;
  /** Number of results from the cache. */
  cached: number;
  /** Number of journal entries. */
  entries: number;
  differences: unknown[];
  /** The first difference in the words of the command line. */
  message: string | null;
}

export interface ReplayDriver {
  /** Performs an attempt with a journal; returns its report. */
  perform(step: Map<string, string>, played: PlayedCall): Promise<string>;
  /** Returns the component that would perform a task; `undefined` if there is none. */
  performerOf(step: Map<string, string>): VerifiedComponent | undefined;
  /** Digest of the engine. */
  engine: string;
  onReplayed(step: ReplayedStep): void;
}

function stepOf(text: string | undefined): ReplayedStep {
  const fields = members(text ?? "{}");
  return {
    namespace: string(fields.get("namespace")),
    step: Number(fields.get("step")),
    made: string(fields.get("made_by")),
    nodes: elements(fields.get("nodes") ?? "[]").map(string),
    fuel: fields.get("fuel") ?? "0",
    result: { recorded: string(fields.get("recorded_result")), replayed: string(fields.get("replayed_result")) },
    equal: fields.get("equal") === "true",
  };
}

/** Replays a run to its end. */
export async function drive(replay: Replay, driver: ReplayDriver): Promise<ReplayResult> {
  for (;;) {
    const step = members(replay.nextStep());
    const kind = string(step.get("step"));
    switch (kind) {
      case "prepare":
        // A bundle has one set of components.
        break;
      case "execute": {
        const played: PlayedCall = { entries: elements(step.get("entries") ?? "[]") };
        const report = await driver.perform(step, played);
        replay.executed(report, played.difference);
        break;
      }
      case "look_up":
        replay.lookedUp(driver.performerOf(step), driver.engine);
        break;
      case "superstep":
        driver.onReplayed(stepOf(step.get("superstep")));
        break;
      case "finished":
        return JSON.parse(replay.summary()) as ReplayResult;
      default:
        throw new Error(`the walker asked for a step of a replay that this page does not know: ${kind}`);
    }
  }
}
