// `wasi:http/types`. Of `wasi:filesystem/types` a node imports types alone.
export { Fields, OutgoingBody, OutgoingRequest } from './requests.mjs';
