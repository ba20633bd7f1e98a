// Renders notices of the walker as lines.

interface Notice {
  notice: string;
  [field: string]: unknown;
}

function said(notice: Notice): string | undefined {
  const text = (field: string): string => {
    const value = notice[field];
    return typeof value === "string" ? value : JSON.stringify(value ?? null);
  };
  const list = (field: string): string => (notice[field] as string[]).join(", ");
  switch (notice.notice) {
    case "superstep_started":
      return `superstep ${text("superstep")}: ${list("nodes")}`;
    case "task_finished": {
      const failure = notice["failure"] as { message?: string } | null;
      return failure ? `${text("node")}: failed: ${failure.message ?? text("failure")}` : `${text("node")}: done, ${text("fuel")} fuel`;
    }
    case "cached":
      return `${text("node")}: taken from ${text("run")}`;
    case "retrying":
      return `${text("node")}: again, attempt ${text("attempt")}`;
    case "committed":
      return `superstep ${text("superstep")} committed, ${text("fuel")} fuel`;
    case "stopped":
      return `stopped: ${(notice["error"] as { message?: string }).message ?? text("error")}`;
    case "warning":
      return `warning: ${text("message")}`;
    case "child_started":
      return `child run ${text("namespace")}: ${text("graph")}`;
    case "child": {
      const inner = said(notice["inner"] as Notice);
      return inner === undefined ? undefined : `${text("path")}: ${inner}`;
    }
    default:
      return undefined;
  }
}

/** Renders a notice as a line; `undefined` for notices that are not shown. */
export function line(text: string): string | undefined {
  return said(JSON.parse(text) as Notice);
}
