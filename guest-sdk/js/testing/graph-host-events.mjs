import { parse } from '../src/json.ts';
import { host } from './state.mjs';

export function emit(name, payload) {
  host.records.push({ name, payload: parse(payload) });
}
