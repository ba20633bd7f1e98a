// Filters the list of a catalogue. The list itself is in the page: without this script, all items are shown.

interface Row {
  readonly element: HTMLElement;
  readonly text: string;
  readonly kind: string;
  readonly trusted: boolean;
}

interface SearchFilter {
  readonly query: string;
  readonly kind: string;
  readonly trusted: boolean;
}

function element<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${id}`);
  return found;
}

const form = element("search", HTMLFormElement);
const query = element("query", HTMLInputElement);
const kind = element("kind", HTMLSelectElement);
const trusted = element("trusted", HTMLInputElement);
const found = element("found", HTMLParagraphElement);
const rows: readonly Row[] = Array.from(element("items", HTMLUListElement).children)
  .filter((child) => child instanceof HTMLElement)
  .map((child) => ({
    element: child,
    text: child.dataset["text"] ?? "",
    kind: child.dataset["kind"] ?? "",
    trusted: child.dataset["trusted"] === "true",
  }));

/** Checks whether a row has the kind and trust that are wanted, and every word of the query. */
function fits(row: Row, wanted: SearchFilter, words: readonly string[]): boolean {
  return (wanted.kind === "" || row.kind === wanted.kind) && (!wanted.trusted || row.trusted) && words.every((word) => row.text.includes(word));
}

function current(): SearchFilter {
  return { query: query.value, kind: kind.value, trusted: trusted.checked };
}

function show(wanted: SearchFilter): void {
  const words = wanted.query.toLowerCase().split(/\s+/u).filter((word) => word !== "");
  let shown = 0;
  for (const row of rows) {
    const fitting = fits(row, wanted, words);
    row.element.hidden = !fitting;
    if (fitting) shown += 1;
  }
  const all = rows.length === 1 ? "1 item" : `${rows.length} items`;
  found.textContent = shown === rows.length ? all : `${shown} of ${all}`;
}

/** Stores the search in the fragment of the address, so that it can be linked to and survives a reload. */
function keep(wanted: SearchFilter): void {
  const kept = new URLSearchParams();
  if (wanted.query !== "") kept.set("q", wanted.query);
  if (wanted.kind !== "") kept.set("kind", wanted.kind);
  if (wanted.trusted) kept.set("trusted", "true");
  const fragment = kept.toString();
  history.replaceState(null, "", fragment === "" ? location.pathname + location.search : `#${fragment}`);
}

function restore(): void {
  const kept = new URLSearchParams(location.hash.slice(1));
  query.value = (kept.get("q") ?? "").slice(0, query.maxLength);
  kind.value = kept.get("kind") ?? "";
  // An unknown kind selects all.
  if (kind.selectedIndex < 0) kind.value = "";
  trusted.checked = kept.get("trusted") === "true";
  show(current());
}

function changed(): void {
  show(current());
  keep(current());
}

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", changed);
addEventListener("hashchange", restore);
addEventListener("keydown", (event) => {
  const inField = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (event.key === "/" && !inField && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    query.focus();
  } else if (event.key === "Escape" && event.target === query && query.value !== "") {
    query.value = "";
    changed();
  }
});
form.hidden = false;
restore();
