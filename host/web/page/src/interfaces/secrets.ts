// `graph-host:host/secrets`: handles of granted secrets. Their values stay with the worker that holds the walker.

import type { Grant } from "../protocol";

/** The handle of a secret: always the same for a name. */
const handleOf = (name: string): string => `{{secret:${name}}}`;

export function secrets(granted: Grant["secrets"] = []): Record<string, object> {
  return {
    "graph-host:host/secrets": {
      handle(name: string): string {
        if (!granted.some((secret) => secret.name === name)) throw "not-granted";
        return handleOf(name);
      },
      names: (): string[] => granted.map(({ name }) => name),
    },
  };
}
