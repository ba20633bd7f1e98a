// A component that exports functions, made by componentize-qjs, which knows nothing of graphs.

export function upper(text) {
  return text.toUpperCase();
}

export const words = {
  count(text) {
    const times = new Map();
    for (const word of text.split(/\s+/).filter(Boolean)) times.set(word, (times.get(word) ?? 0) + 1);
    const counted = [...times].map(([text, times]) => ({ text, times }));
    return counted.sort((one, other) => other.times - one.times);
  },
  longest(texts) {
    const there = texts.filter((text) => text !== undefined && text !== null);
    return there.reduce((longest, text) => (longest === undefined || text.length > longest.length ? text : longest), undefined);
  },
  number(text) {
    if (text === "") throw { tag: "invalid-input" };
    const number = Number(text);
    if (Number.isNaN(number)) throw { tag: "not-found", val: `${text} is no number` };
    return number;
  },
};
