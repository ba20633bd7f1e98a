export { Fields, OutgoingBody, OutgoingRequest } from './requests.mjs';
