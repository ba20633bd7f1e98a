import { emit as emitRecord } from 'graph-host:host/events@0.1.0';
import { log as logLine } from 'graph-host:host/log@0.1.0';
import { stringify } from './json.js';

/** How important a line is. */
export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** Writes a log line for the people who run the graph. */
export function log(level: Level, message: string): void {
  logLine(level, message.toWellFormed());
}

/** Adds a record to the run's event stream. `name`: letters, digits, `_`, `-`, `.` and `/`, at most 64 bytes. */
export function emit(name: string, payload: unknown): void {
  emitRecord(name, stringify(payload));
}
