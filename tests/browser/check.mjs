// Runs every example natively and in the page, and compares what has to be equal.
//
// Usage: node check.mjs GRAPH_HOST ROOT SCRATCH [only a check]

import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";

import * as checks from "./checks.mjs";
import { Native } from "./native.mjs";
import { launch } from "./page.mjs";
import { bundleExample, copyTree, names } from "./prepare.mjs";

const [, , binary, root, scratch, only] = process.argv;
const tree = join(scratch, "tree");
copyTree(root, tree);
const untouched = join(scratch, "untouched");
cpSync(tree, untouched, { recursive: true });
const native = new Native(binary);
const sites = join(scratch, "sites");
const wanted = Object.entries(checks).filter(([name]) => !only || name === only);
for (const name of names) bundleExample(join(sites, name), name, { native, tree, assets: join(root, "host/bundle/assets") });

const browser = await launch();
let failed = 0;
try {
  for (const [name, check] of wanted) {
    const began = performance.now();
    try {
      // Examples read this tree: what one check adds would not be in the bundles that another one compares with. Its place stays the same,
      // because manifests are pinned with the folders that they grant.
      rmSync(tree, { recursive: true });
      cpSync(untouched, tree, { recursive: true });
      await check({ native, browser, root, sites, tree, scratch });
      console.log(`${name}: ok, ${((performance.now() - began) / 1000).toFixed(1)} s`);
    } catch (error) {
      failed += 1;
      console.log(`${name}: FAILED: ${error.stack}`);
    }
  }
} finally {
  await browser.close();
}
process.exit(failed > 0 ? 1 : 0);
