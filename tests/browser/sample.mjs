// What is tested of many that are alike.

import { createHash } from "node:crypto";

export const isFull = Boolean(process.env.FULL);
const seed = process.env.SEED ?? "11";

/** Of each kind, as many as `count` says, drawn by SEED; with FULL=1 all of them. The order stays. */
export function sample(all, kindOf, count = 1) {
  if (isFull) return all;
  const share = (one) => createHash("sha256").update(`${seed}:${JSON.stringify(one)}`).digest("hex");
  const kinds = new Map();
  for (const one of all) kinds.set(kindOf(one), [...(kinds.get(kindOf(one)) ?? []), one]);
  const drawn = new Set([...kinds.values()].flatMap((alike) => alike.toSorted((a, b) => (share(a) < share(b) ? -1 : 1)).slice(0, count)));
  return all.filter((one) => drawn.has(one));
}

/** How wide a page is, and whether it is light or dark: each width once, and both of the others; with FULL=1 each width with both. */
export function looks() {
  const widths = [360, 768, 1280];
  const schemes = ["light", "dark"];
  if (isFull) return schemes.flatMap((colorScheme) => widths.map((width) => ({ colorScheme, width })));
  const first = createHash("sha256").update(seed).digest()[0];
  return widths.map((width, place) => ({ colorScheme: schemes[(first + place) % 2], width }));
}
