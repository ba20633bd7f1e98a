// `graph-host:host/knowledge`: texts by key below the granted scopes. As `host/engine/src/host/knowledge.rs`.

import type { Answer, Journal } from "../journal";
import { escape, type Plain } from "../json";
import type { KnowledgeQuestion, KnowledgeRule, KnowledgeAnswer } from "../protocol";

const INTERFACE = "graph-host:host/knowledge";
/** Size of the largest text of an entry, in bytes. */
const MAX_TEXT = 1 << 20;
/** Length of the longest query, in bytes. */
const MAX_QUERY = 1000;
/** Limits of the entries of a search, and of the keys of a list. */
const MAX_HITS = 100;
const MAX_KEYS = 1000;

interface KnowledgeError {
  tag: string;
  val: string;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const isKey = (text: string): boolean =>
  text.length <= 512 && text.split("/").every((segment) => /^[A-Za-z0-9_\-.]+$/.test(segment) && segment !== "." && segment !== "..");
/** Checks whether a text can be a prefix of keys: it is empty, or a key, with or without a `/` at its end. */
const isPrefix = (text: string): boolean => text === "" || isKey(text.replace(/\/$/, ""));

const invalid = (message: string): KnowledgeError => ({ tag: "invalid", val: message });
const badKey = (key: string): KnowledgeError | undefined => (isKey(key) ? undefined : invalid(`\`${escape(key)}\` is no key`));
const badPrefix = (prefix: string): KnowledgeError | undefined =>
  isPrefix(prefix) ? undefined : invalid(`\`${escape(prefix)}\` is no beginning of keys`);

export function knowledge(rules: KnowledgeRule[], journal: Journal, ask: (question: KnowledgeQuestion) => Promise<KnowledgeAnswer>): Record<string, object> {
  /** Returns the refusal of keys with this prefix; `undefined` if they may be used. */
  const denied = (start: string, write: boolean): KnowledgeError | undefined => {
    const covering = rules.filter(({ scope }) => start.startsWith(scope));
    const granted = `(granted: ${rules.map(({ scope, access }) => `${scope} ${access}`).join(", ")})`;
    if (covering.length === 0) return { tag: "denied", val: `\`${start}\` is in no granted scope ${granted}` };
    if (write && covering.every(({ access }) => access === "ro")) {
      return { tag: "denied", val: `\`${start}\` is in a scope that is granted for reading only ${granted}` };
    }
    return undefined;
  };

  /** Makes a call through the journal. A refusal follows from the grant, and needs no entry. */
  async function call<T>(refusal: KnowledgeError | undefined, request: Plain, question: KnowledgeQuestion, read: (kept: Plain) => T | undefined): Promise<T> {
    if (refusal) throw refusal;
    type Outcome = { value: T } | { error: KnowledgeError };
    const world = async (): Promise<Answer<Outcome>> => {
      const told = await ask(question);
      if ("error" in told) return { ok: false, value: { error: { tag: told.error, val: told.message } }, kept: { error: told.error, message: told.message } };
      return { ok: true, value: { value: read(told.kept) as T }, kept: told.kept };
    };
    const again = (kept: Plain, ok: boolean): Outcome | undefined => {
      if (ok) {
        const value = read(kept);
        return value === undefined ? undefined : { value };
      }
      const { error, message } = kept as { error?: string; message?: string };
      const isKnown = ["denied", "invalid", "full", "unavailable"].includes(error ?? "") && message !== undefined;
      return isKnown ? { error: { tag: error as string, val: message } } : undefined;
    };
    const outcome = await journal.ask<Outcome>(INTERFACE, question.of, request, world, again);
    if ("error" in outcome) throw outcome.error;
    return outcome.value;
  }

  return {
    "graph-host:host/knowledge": {
      async get(key: string): Promise<string | undefined> {
        const read = (kept: Plain): { text?: string } | undefined => (kept === null ? {} : typeof kept === "string" ? { text: kept } : undefined);
        return (await call(badKey(key) ?? denied(key, false), { key }, { ask: "knowledge", of: "get", key }, read)).text;
      },
      async put(key: string, text: string): Promise<void> {
        const bytes = bytesOf(text);
        const tooLong = bytes.length > MAX_TEXT ? invalid(`the text of \`${key}\` is ${bytes.length} bytes long; ${MAX_TEXT} are allowed`) : undefined;
        const refusal = badKey(key) ?? tooLong ?? denied(key, true);
        await call(refusal, { key, text: journal.digested(bytes) }, { ask: "knowledge", of: "put", key, text }, (kept) => (kept === null ? true : undefined));
      },
      async search(prefix: string, query: string, limit: number): Promise<{ key: string; excerpt: string }[]> {
        const tooLong = bytesOf(query).length > MAX_QUERY ? invalid(`the query is longer than ${MAX_QUERY} bytes`) : undefined;
        const request = { prefix, query, limit: Math.min(limit, MAX_HITS) };
        const refusal = badPrefix(prefix) ?? tooLong ?? denied(prefix, false);
        return call(refusal, request, { ask: "knowledge", of: "search", ...request }, (kept) =>
          Array.isArray(kept) ? kept.map((hit) => ({ key: (hit as string[])[0] ?? "", excerpt: (hit as string[])[1] ?? "" })) : undefined,
        );
      },
      async list(prefix: string, after: string | undefined, limit: number): Promise<string[]> {
        const request = { prefix, after: after ?? null, limit: Math.min(limit, MAX_KEYS) };
        const refusal = badPrefix(prefix) ?? (after === undefined ? undefined : badKey(after)) ?? denied(prefix, false);
        return call(refusal, request, { ask: "knowledge", of: "list", ...request }, (kept) => (Array.isArray(kept) ? (kept as string[]) : undefined));
      },
    },
  };
}
