/** Base64, with the padding and without line breaks. */

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The Base64 text of bytes. */
export function toBase64(bytes: ArrayLike<number>): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 3) {
    const rest = bytes.length - at;
    const group = (bytes[at]! << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const digits = [18, 12, 6, 0].map(shift => DIGITS[(group >> shift) & 63]);
    parts.push(digits[0]!, digits[1]!, rest > 1 ? digits[2]! : '=', rest > 2 ? digits[3]! : '=');
  }
  return parts.join('');
}

/** The bytes of a Base64 text; `undefined` if it is none. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    return undefined;
  }
  const digits = text.replace(/=+$/, '');
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let [group, bits, at] = [0, 0, 0];
  for (let index = 0; index < digits.length; index += 1) {
    group = ((group << 6) | DIGITS.indexOf(digits[index]!)) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at] = (group >> bits) & 0xff;
      at += 1;
    }
  }
  return (group & ((1 << bits) - 1)) === 0 ? bytes : undefined;
}
