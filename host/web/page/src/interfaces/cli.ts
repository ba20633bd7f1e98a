// `wasi:cli`, which every component may import because language runtimes do: it gives access to nothing, and output is logged.

import { Fault } from "../fault";
import type { Output, StandardStream } from "./output";
import { InputStream, OutputStream, type Handles, type Sink } from "./streams";

/** Limit of one write, in bytes. */
const MAX_WRITE = 65536;

/** Type of a terminal, which never exists. */
class NoTerminal {}

export function cli(output: Output, handles: Handles): Record<string, object> {
  const sink = (stream: StandardStream): Sink => ({
    room: () => MAX_WRITE,
    write: (bytes) => output.write(stream, bytes),
  });
  const exitWithCode = (status: number): never => {
    throw new Fault("permanent", `it called \`exit\` with status ${status} instead of returning an outcome`);
  };
  return {
    "wasi:cli/environment": { getEnvironment: () => [], getArguments: () => [], initialCwd: () => undefined },
    "wasi:cli/exit": { exit: (status: { tag: "ok" | "err" }) => exitWithCode(status.tag === "ok" ? 0 : 1), exitWithCode },
    "wasi:cli/stdin": { getStdin: () => new InputStream(handles, () => new Uint8Array()) },
    "wasi:cli/stdout": { getStdout: () => new OutputStream(handles, sink("info")) },
    "wasi:cli/stderr": { getStderr: () => new OutputStream(handles, sink("warn")) },
    "wasi:cli/terminal-input": { TerminalInput: NoTerminal },
    "wasi:cli/terminal-output": { TerminalOutput: NoTerminal },
    "wasi:cli/terminal-stdin": { getTerminalStdin: () => undefined },
    "wasi:cli/terminal-stdout": { getTerminalStdout: () => undefined },
    "wasi:cli/terminal-stderr": { getTerminalStderr: () => undefined },
  };
}
