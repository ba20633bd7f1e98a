import { Folder } from './files.mjs';

export function getDirectories() {
  return [[new Folder(''), '/']];
}
