// `graph-host:host/log`, `graph-host:host/events` and standard streams, within one budget of bytes.

import { Fault } from "../fault";
import { escape } from "../json";
import type { EventRecord, LogLine } from "../protocol";
import { errorOf } from "../walker";

/** Cost of a line or an event in addition to its text, in bytes. */
const OVERHEAD = 16;

/** Length of the longest line of a standard stream, in bytes. */
const MAX_LINE = 65536;

/** A standard stream, named by the level of its lines: standard output and standard error. */
export type StandardStream = "info" | "warn";

const length = (text: string): number => new TextEncoder().encode(text).length;

export class Output {
  readonly logs: LogLine[] = [];
  readonly events: EventRecord[] = [];
  private left: number;
  /** Bytes of standard streams since the last end of a line. */
  private readonly unfinished: Record<StandardStream, number[]> = { info: [], warn: [] };

  constructor(
    private readonly limit: number,
    private readonly readJson: (text: string) => string,
  ) {
    this.left = limit;
  }

  private spend(bytes: number): void {
    this.take(OVERHEAD + bytes);
  }

  private take(cost: number): void {
    this.left -= cost;
    if (this.left < 0) throw new Fault("limit", `its log lines and events take more than ${this.limit} bytes`);
  }

  /** Adds a log line of the host about the component; it is dropped if the budget is used up. */
  hostLine(level: string, message: string): void {
    const cost = OVERHEAD + length(message);
    if (cost > this.left) return;
    this.left -= cost;
    this.logs.push({ level, message: escape(message) });
  }

  /** Adds an event of a called component, which is already checked. */
  addEvent(event: EventRecord): void {
    this.spend(length(event.name) + length(event.payload));
    this.events.push(event);
  }

  /** Adds bytes of a standard stream: each line becomes a log line. A line of more than 64 KiB is divided. */
  write(stream: StandardStream, bytes: Uint8Array): void {
    const unfinished = this.unfinished[stream];
    for (let rest = bytes; rest.length > 0; ) {
      const begins = unfinished.length === 0;
      const room = MAX_LINE - unfinished.length;
      const end = rest.subarray(0, room).indexOf(10);
      const text = end < 0 ? Math.min(room, rest.length) : end;
      for (const byte of rest.subarray(0, text)) unfinished.push(byte);
      this.take(text + (begins ? OVERHEAD : 0));
      if (end >= 0 || unfinished.length === MAX_LINE) this.line(stream);
      rest = rest.subarray(text + (end < 0 ? 0 : 1));
    }
  }

  private line(stream: StandardStream): void {
    const bytes = this.unfinished[stream].splice(0);
    if (bytes.at(-1) === 13) bytes.pop();
    this.logs.push({ level: stream, message: escape(new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes))) });
  }

  /** Ends the call: unfinished lines become log lines. */
  finish(): void {
    for (const stream of ["info", "warn"] as const) if (this.unfinished[stream].length > 0) this.line(stream);
  }

  imports(): Record<string, object> {
    return {
      "graph-host:host/log": {
        log: (level: string, message: string): void => {
          this.spend(length(message));
          this.logs.push({ level, message: escape(message) });
        },
      },
      "graph-host:host/events": {
        emit: (name: string, payload: string): void => {
          this.spend(length(name) + length(payload));
          if (!/^[A-Za-z0-9_\-./]{1,64}$/.test(name)) {
            const allowed = "a name is up to 64 letters, digits, `_`, `-`, `.` and `/`";
            throw new Fault("invalid-input", `it emitted an event named \`${escape(name.slice(0, 64))}\`; ${allowed}`);
          }
          let text: string;
          try {
            text = this.readJson(payload);
          } catch (error) {
            const reason = String(errorOf(error) ?? error);
            throw new Fault("invalid-input", `the payload of its event \`${name}\` is not JSON: ${reason}`);
          }
          this.events.push({ name, payload: text });
        },
      },
    };
  }
}
