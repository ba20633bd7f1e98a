// Builds dist from src: the same bytes on every machine.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";

const out = process.argv[2] ?? "dist";
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await build({
  entryPoints: { page: "src/page.ts", worker: "src/worker.ts" },
  outdir: out,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
});
// A script of its own, which is no module: pages that are opened as files load no modules.
await build({
  entryPoints: { catalogue: "src/catalogue.ts" },
  outdir: out,
  bundle: true,
  format: "iife",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
});
copyFileSync("src/index.html", `${out}/index.html`);
for (const name of ["page", "catalogue"]) copyFileSync(`src/${name}.css`, `${out}/${name}.css`);
