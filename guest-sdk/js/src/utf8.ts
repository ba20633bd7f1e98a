/** UTF-8: the engine of a node has no `TextEncoder`. */

/** How many bytes become a text at once: a function takes only so many arguments. */
const CHUNK = 4096;

/** The bytes of a text. Half a character is written as U+FFFD. */
export function encode(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 3);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    let point = text.charCodeAt(at);
    if (point < 0x80) {
      bytes[length++] = point;
      continue;
    }
    if (point < 0x800) {
      bytes[length++] = 0xc0 | (point >> 6);
      bytes[length++] = 0x80 | (point & 0x3f);
      continue;
    }
    if (point >= 0xd800 && point < 0xe000) {
      const low = point < 0xdc00 ? text.charCodeAt(at + 1) : 0;
      if (low >= 0xdc00 && low < 0xe000) {
        at += 1;
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        bytes[length++] = 0xf0 | (point >> 18);
        bytes[length++] = 0x80 | ((point >> 12) & 0x3f);
        bytes[length++] = 0x80 | ((point >> 6) & 0x3f);
        bytes[length++] = 0x80 | (point & 0x3f);
        continue;
      }
      point = 0xfffd;
    }
    bytes[length++] = 0xe0 | (point >> 12);
    bytes[length++] = 0x80 | ((point >> 6) & 0x3f);
    bytes[length++] = 0x80 | (point & 0x3f);
  }
  return bytes.slice(0, length);
}

/** The text of bytes; `undefined` if they are not UTF-8. */
export function decode(bytes: Uint8Array): string | undefined {
  let escaped = '';
  for (let at = 0; at < bytes.length; at += CHUNK) {
    // Most bytes are characters, and stay them; the engine decodes the others.
    const characters = String.fromCharCode(...bytes.subarray(at, at + CHUNK));
    escaped += characters.replace(/[%\x80-\xff]/g, byte => `%${byte.charCodeAt(0).toString(16)}`);
  }
  try {
    return decodeURIComponent(escaped);
  } catch {
    return undefined;
  }
}
