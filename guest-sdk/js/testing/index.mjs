export { host } from './state.mjs';
