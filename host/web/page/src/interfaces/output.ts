// `graph-host:host/log` and `graph-host:host/events`, within one budget of bytes.

import { Fault } from "../fault";
import { escape } from "../json";
import type { EventRecord, LogLine } from "../protocol";
import { errorOf } from "../walker";

/** What a line or an event costs in addition to its text. */
const OVERHEAD = 16;

const length = (text: string): number => new TextEncoder().encode(text).length;

export class Output {
  readonly logs: LogLine[] = [];
  readonly events: EventRecord[] = [];
  private left: number;

  constructor(
    private readonly limit: number,
    private readonly readJson: (text: string) => string,
  ) {
    this.left = limit;
  }

  private spend(bytes: number): void {
    this.left -= OVERHEAD + bytes;
    if (this.left < 0) throw new Fault("limit", `its log lines and events take more than ${this.limit} bytes`);
  }

  /** Adds a line of the host about the component; it is dropped if the budget is used up. */
  hostLine(level: string, message: string): void {
    const cost = OVERHEAD + length(message);
    if (cost > this.left) return;
    this.left -= cost;
    this.logs.push({ level, message: escape(message) });
  }

  /** Adds an event of a called component, which was checked before. */
  addEvent(event: EventRecord): void {
    this.spend(length(event.name) + length(event.payload));
    this.events.push(event);
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
