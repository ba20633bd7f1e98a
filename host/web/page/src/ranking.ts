// Finds and ranks entries of knowledge as the native store does, which is SQLite's FTS5: its tokenizer `unicode61 remove_diacritics 2`, and
// its `bm25`. `host/store/src/knowledge.rs` makes the terms of a query and the excerpts.

/** The most words, and phrases, of a query that count. */
const MAX_TERMS = 32;
/** Words of an excerpt. */
const EXCERPT_WORDS = 24;
/** The longest excerpt, in bytes. */
const MAX_EXCERPT = 500;
/** The constants of FTS5's `bm25`. */
const K1 = 1.2;
const B = 0.75;

/** What FTS5 takes as part of a word. */
const TOKEN = /[\p{L}\p{N}\p{Co}]/u;
/** What the native store takes as part of a word of a query. */
const WORD = /[^\p{Alphabetic}\p{N}]+/u;
const SPACE = /\p{White_Space}+/u;

/** Combining marks that FTS5 takes as part of a word and leaves out: two bit masks of its own. */
function isMark(code: number): boolean {
  if (code < 768 || code > 817) return false;
  return code < 800 ? ((0x08029fdf >>> (code - 768)) & 1) === 1 : ((0x000361f8 >>> (code - 800)) & 1) === 1;
}

/** A character in lower case; of a Latin letter, without its diacritics. */
function folded(character: string): string {
  if (character < "\u0080") return character.toLowerCase();
  const [base = ""] = character.normalize("NFD");
  return (/^[A-Za-z]$/.test(base) ? base : character).toLowerCase();
}

/** The words of a text, as FTS5 indexes them. */
export function tokens(text: string): string[] {
  const found: string[] = [];
  let word = "";
  for (const character of text) {
    const mark = isMark(character.codePointAt(0) ?? 0);
    if (mark ? word !== "" : TOKEN.test(character)) {
      if (!mark) word += folded(character);
    } else if (word !== "") {
      found.push(word);
      word = "";
    }
  }
  if (word !== "") found.push(word);
  return found;
}

/** What a query asks for: each word of it, and those in double quotes one after the other. */
export function terms(query: string): string[][] {
  const all = query.split('"').flatMap((part, at) => {
    const words = part.split(WORD).filter((word) => word !== "");
    return at % 2 === 1 ? [words] : words.map((word) => [word]);
  });
  const kept = new Map<string, string[]>();
  for (const term of all) if (kept.size < MAX_TERMS && term.length > 0 && !kept.has(term.join(" "))) kept.set(term.join(" "), term);
  return [...kept.values()];
}

/** How often a phrase occurs among words. */
function occurrences(words: string[], phrase: string[]): number {
  let count = 0;
  for (let at = words.indexOf(phrase[0] ?? ""); at >= 0; at = words.indexOf(phrase[0] ?? "", at + 1)) {
    if (phrase.every((word, place) => words[at + place] === word)) count += 1;
  }
  return count;
}

/** The entries below a prefix that hold all terms of a query, best first. */
export function ranked(entries: Map<string, string>, prefix: string, query: string, limit: number): { key: string; excerpt: string }[] {
  const wanted = terms(query);
  const phrases = wanted.map((term) => tokens(term.join(" "))).filter((phrase) => phrase.length > 0);
  if (phrases.length === 0) return [];
  const documents = [...entries].map(([key, text]) => {
    const words = tokens(text);
    return { key, text, length: words.length, counts: phrases.map((phrase) => occurrences(words, phrase)) };
  });
  const average = documents.reduce((sum, { length }) => sum + length, 0) / documents.length;
  const weights = phrases.map((_, place) => {
    const having = documents.filter(({ counts }) => (counts[place] ?? 0) > 0).length;
    const weight = Math.log((documents.length - having + 0.5) / (having + 0.5));
    return weight <= 0 ? 1e-6 : weight;
  });
  const scored = documents
    .filter(({ key, counts }) => key.startsWith(prefix) && counts.every((count) => count > 0))
    .map(({ key, text, length, counts }) => {
      const score = counts.reduce(
        (sum, count, place) => sum + (weights[place] ?? 0) * ((count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / average))),
        0,
      );
      return { key, text, score };
    });
  scored.sort((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1));
  return scored.slice(0, limit).map(({ key, text }) => ({ key, excerpt: excerpt(text, wanted) }));
}

/** Some words of a text around the first match, on one line; its beginning if the match is spelled differently. */
export function excerpt(text: string, wanted: string[][]): string {
  const words = new Set(wanted.flat().map((word) => word.toLowerCase()));
  const pieces = text.split(SPACE).filter((piece) => piece !== "");
  const hit = pieces.findIndex((piece) => piece.split(WORD).some((word) => word !== "" && words.has(word.toLowerCase())));
  const from = Math.max(Math.max(hit, 0) - EXCERPT_WORDS / 3, 0);
  const shown = pieces.slice(from, from + EXCERPT_WORDS).join(" ");
  return cut(`${from > 0 ? "… " : ""}${shown}${pieces.length > from + EXCERPT_WORDS ? " …" : ""}`);
}

/** A line cut to the length of an excerpt, between two characters. */
function cut(line: string): string {
  const bytes = new TextEncoder().encode(line);
  if (bytes.length <= MAX_EXCERPT) return line;
  let end = MAX_EXCERPT;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end));
}
