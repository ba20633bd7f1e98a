// Bundles of the repository's examples, over a copy of the files that they see.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { seal } from "./bundle.mjs";
import { EXAMPLES, SEEN } from "./examples.mjs";

/** Copies what git knows of these places. */
export function copyTree(root, tree) {
  const places = [...SEEN, "examples"];
  const files = execFileSync("git", ["ls-files", "-z", ...places], { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean);
  for (const path of files) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    cpSync(join(root, path), join(tree, path));
  }
  for (const name of ["probe.yaml", "many.yaml", "loop.yaml", "caps.yaml"]) cpSync(join(root, "tests/browser/graphs", name), join(tree, "examples/nodes", name));
}

/** Bundles a graph of the tree; `assets` takes the place of what is built into the command line. */
export function bundleExample(out, name, { native, tree, assets, replay, more }) {
  const [folder, file] = name.includes("/") ? ["examples/nodes", `${name.split("/")[1]}.yaml`] : [`examples/${name}`, "graph.yaml"];
  const at = join(tree, folder);
  const files = { graph: join(at, file), caps: join(at, "caps.yaml"), trust: join(tree, "examples/trust.yaml") };
  bundleGraph(out, files, { native, assets, replay, more });
}

const CONNECT = /connect-src [^;]*/;

/** The same of any graph. */
export function bundleGraph(out, { graph, caps, trust }, { native, assets, replay, more = [] }) {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(dirname(out), { recursive: true });
  const words = ["bundle", graph, "--caps", caps, ...(trust ? ["--trust", trust] : []), "--files"];
  native.call([0], ...words, ...(replay ? ["--replay", replay] : []), ...more, "-o", out);
  // Which origins a page may reach is the bundle's.
  const [origins] = CONNECT.exec(readFileSync(join(out, "index.html"), "utf8"));
  rmSync(join(out, "assets"), { recursive: true });
  cpSync(assets, join(out, "assets"), { recursive: true });
  renameSync(join(out, "assets/index.html"), join(out, "index.html"));
  writeFileSync(join(out, "index.html"), readFileSync(join(out, "index.html"), "utf8").replace(CONNECT, origins));
  seal(out);
}

/** What is bundled: the examples, and the graphs of this folder. */
export const names = [...new Set(EXAMPLES.map(({ name }) => name)), "nodes/probe", "nodes/many", "nodes/loop"];
