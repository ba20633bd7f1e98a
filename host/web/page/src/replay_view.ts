// View of a replay in the page.

import type { PageRequest } from "./host";
import { printable } from "./json";
import type { ReplayedStep } from "./replay";
import type { ReplaySummary } from "./replay_file";

const at = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

export class ReplayView {
  private run = "";

  constructor(private readonly request: (request: PageRequest) => void) {
    at("replay").onclick = () => this.begin({ wish: "replay" });
    const input = at<HTMLInputElement>("replay-file");
    input.onchange = () => {
      const [file] = input.files ?? [];
      if (file) this.begin({ wish: "replay", file });
      // Reset, so that the same file can be chosen again.
      input.value = "";
    };
  }

  /** Shows the controls that apply: `packed` for the run in the bundle, `usable` for any replay. */
  offer(packed: boolean, usable: boolean): void {
    at("replays").hidden = !usable;
    at("replay").hidden = !packed;
  }

  busy(busy: boolean): void {
    for (const id of ["replay", "replay-file"]) at<HTMLButtonElement | HTMLInputElement>(id).disabled = busy;
  }

  private begin(request: PageRequest): void {
    at("replay-steps").replaceChildren();
    at("replay-table").hidden = true;
    at("replayed").textContent = "Checking the run …";
    this.request(request);
  }

  /** Shows that the run was verified and its replay has started. */
  began(run: string, key: string): void {
    this.run = run;
    at("replay-table").hidden = false;
    at("replayed").textContent = printable(`Run ${run}, signed by the key ${key}: every signature, link and digest is right. Replaying …`);
  }

  step({ namespace, step, made, nodes, fuel, result, equal }: ReplayedStep): void {
    const row = document.createElement("tr");
    const cells = [namespace || this.run, String(step), made === "superstep" ? nodes.join(", ") : made, fuel, result.recorded, equal ? "equal" : "different"];
    for (const text of cells) {
      const cell = document.createElement("td");
      cell.textContent = printable(text);
      row.append(cell);
    }
    row.className = equal ? "" : "different";
    if (!equal && result.recorded !== result.replayed) (row.cells[4] as HTMLElement).textContent = printable(`${result.recorded}, replayed ${result.replayed}`);
    at("replay-steps").append(row);
  }

  ended({ run, supersteps, attempts, cached, entries, message, changes }: ReplaySummary): void {
    const counts = [counted(supersteps, "superstep"), counted(attempts, "attempt"), `${counted(entries, "answer")} from the journal`];
    if (cached > 0) counts.push(`${counted(cached, "result")} from the cache`);
    const text = message ?? `Run ${run} replays equal: ${counts.join(", ")}.`;
    at("replayed").textContent = printable([text, ...changes].join("\n"));
    at("replays-title").focus();
  }

  refused(): void {
    at("replayed").textContent = "";
  }
}
