/** Always the same numbers: those of a xorshift generator. */
let state = 0x9e3779b9;

export function getRandomBytes(count) {
  return Uint8Array.from({ length: count }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xff;
  });
}
