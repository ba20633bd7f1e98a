import { Folder } from './files.mjs';
import { host } from './state.mjs';

export function getDirectories() {
  return host.granted.map(path => [new Folder(path), path]);
}
