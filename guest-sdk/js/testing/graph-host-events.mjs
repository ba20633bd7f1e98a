import { host } from './state.mjs';

export function emit(name, payload) {
  host.records.push({ name, payload: JSON.parse(payload) });
}
