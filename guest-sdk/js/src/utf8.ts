/** UTF-8: the engine of a node has no `TextEncoder`. */

/** The bytes of a text. */
export function encode(text: string): Uint8Array {
  const escaped = encodeURIComponent(text.toWellFormed());
  const bytes = escaped.replace(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return Uint8Array.from(bytes, byte => byte.charCodeAt(0));
}

/** The text of bytes; `undefined` if they are not UTF-8. */
export function decode(bytes: Uint8Array): string | undefined {
  let escaped = '';
  for (const byte of bytes) {
    escaped += byte < 0x80 && byte !== 0x25 ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`;
  }
  try {
    return decodeURIComponent(escaped);
  } catch {
    return undefined;
  }
}
