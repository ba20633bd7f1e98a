export { handle } from './requests.mjs';
