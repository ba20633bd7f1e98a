// Runs of the command line.

import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Native {
  constructor(binary) {
    this.binary = binary;
    this.folder = mkdtempSync(join(tmpdir(), "graph-host-browser-"));
  }

  call(codes, ...words) {
    const done = spawnSync(this.binary, words, { cwd: this.folder, env: { ...process.env, ...this.env }, encoding: "utf8", maxBuffer: 1 << 30 });
    if (!codes.includes(done.status)) throw new Error(`graph-host ${words.join(" ")}: exit code ${done.status}\n${done.stdout}\n${done.stderr}`);
    return done;
  }

  json(codes, ...words) {
    return JSON.parse(this.call(codes, ...words, "--json").stdout);
  }

  /** Runs a graph to its end: its checkpoints, and how long it took without questions. */
  run(run, { graph, caps, trust, inputs = {}, suspensions = [], codes = [0], env = {}, more = [] }) {
    this.env = env;
    const given = [...Object.entries(inputs).flatMap(([name, value]) => ["--input", `${name}=${value}`]), ...more];
    const began = performance.now();
    let told = this.json([...codes, 6], "run", graph, "--caps", caps, ...(trust ? ["--trust", trust] : []), "--run-id", run, ...given);
    for (const answer of suspensions) {
      const answers = told.interrupts.flatMap(({ id }) => ["--answer", `${id}=${answer}`]);
      told = this.json([...codes, 6], "resume", run, ...answers);
    }
    const took = performance.now() - began;
    const { history, graph_id: id } = this.json([0], "runs", "show", run);
    this.env = {};
    const checkpoints = history.map(({ step, result_digest: result, fuel }) => ({ step: String(step), result, fuel: String(fuel) }));
    return { id, status: told.status, output: told.output, error: told.error, fuel: String(told.fuel), checkpoints, took };
  }
}
