// `graph-host:host/secrets`: handles of granted secrets. The values stay in the worker with the walker.

import type { Grant } from "../protocol";

/** Returns the handle of a secret, which is always the same for a name. */
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
