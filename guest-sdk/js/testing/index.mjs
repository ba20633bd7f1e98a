import { timeFrom } from '../src/globals.ts';
import { host } from './state.mjs';

timeFrom(() => host.clock);

export { answer, calling } from './answers.mjs';
export { host };
