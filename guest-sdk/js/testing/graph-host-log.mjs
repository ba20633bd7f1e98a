import { host } from './state.mjs';

export function log(level, message) {
  host.lines.push({ level, message });
}
