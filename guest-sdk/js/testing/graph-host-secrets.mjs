import { host } from './state.mjs';

export function handle(name) {
  const handle = host.secrets.get(name);
  if (handle === undefined) {
    throw 'not-granted';
  }
  return handle;
}

export function names() {
  return [...host.secrets.keys()];
}
