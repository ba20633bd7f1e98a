// What a page refuses: assets that were changed, that are missing or of another bundle; components by the words of a native run.

import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

import { seal, walk } from "./bundle.mjs";
import { sample } from "./sample.mjs";
import { serve } from "./serve.mjs";

export const flat = (text) => text.replace(/\s+/g, " ");

/** What a page says about a bundle; nothing if it would run it. */
export async function said(browser, folder) {
  const server = await serve(folder);
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(`http://localhost:${server.port}/`);
    // A page whose own code was changed may not say anything; it does not run anything, either.
    await page.waitForFunction(() => document.getElementById("loading")?.hidden === true, null, { timeout: 3000 }).catch(() => undefined);
    const runs = await page.evaluate(() => document.getElementById("begin")?.hidden === false);
    if (runs) return undefined;
    return await page.evaluate(() => `${document.getElementById("message")?.textContent}${document.getElementById("problems")?.textContent}`);
  } finally {
    await context.close();
    server.close();
  }
}

/** Every asset with one byte flipped, every asset away, and those of another bundle. The files of components are alike: each kind of file is tried
 * with one of the components. */
export async function assets({ browser, sites, scratch }) {
  const site = join(sites, "approval");
  const copy = join(scratch, "changed");
  rmSync(copy, { recursive: true, force: true });
  cpSync(site, copy, { recursive: true });
  const silent = [];
  const all = walk(copy).map((path) => relative(copy, path));
  const files = sample(all, (name) => name.replace(/components.[0-9a-f]{64}/, "*"));
  for (const name of files) {
    const path = join(copy, name);
    const bytes = readFileSync(path);
    const changed = Buffer.from(bytes);
    changed[changed.length >> 1] ^= 1;
    writeFileSync(path, changed);
    const flipped = await said(browser, copy);
    assert.notEqual(flipped, undefined, `${name} was changed, and the page runs`);
    if (flipped === "") silent.push(name);
    rmSync(path);
    if (name !== "index.html") assert.notEqual(await said(browser, copy), undefined, `${name} is missing, and the page runs`);
    writeFileSync(path, bytes);
  }
  const other = readFileSync(join(sites, "etl/bundle.json"));
  const own = readFileSync(join(copy, "bundle.json"));
  writeFileSync(join(copy, "bundle.json"), other);
  assert.match(await said(browser, copy), /`bundle.json` was changed/);
  writeFileSync(join(copy, "bundle.json"), own);
  cpSync(join(sites, "etl/manifest.json"), join(copy, "manifest.json"));
  assert.match(await said(browser, copy), /is not what manifest.json.dsse.json signs/);
  // Only what a page is itself may be silent: it does not run then.
  for (const name of silent) assert.match(name, /^(index\.html|assets\/(page|worker)\.js)$/);
  console.log(`${files.length} of ${all.length} assets (FULL=1 takes all): one flipped byte and a missing file are refused, ${silent.length} times because the page itself does not run`);
}

/** Components that are not trusted, in the words of the command line. */
export async function components({ browser, sites, scratch, native, tree }) {
  const folder = "examples/approval";
  const own = join(tree, folder, ".ai/tools/examples/ask.wasm");
  const trust = readFileSync(join(tree, "examples/trust.yaml"), "utf8");
  const changes = {
    unsigned: (bundle) => delete bundle.component.envelope,
    changed: (bundle) => (bundle.bytes[bundle.bytes.length >> 1] ^= 1),
    revoked: (bundle) => (bundle.trust = `${trust}    revoked: true\n`),
    "out of scope": (bundle) => (bundle.trust = trust.replace('"examples/*"', '"examples/draft", "examples/revise"')),
    "another envelope": (bundle) => (bundle.component.envelope = readFileSync(own.replace("ask.wasm", "draft.wasm.dsse.json"), "utf8")),
    "above its ceiling": (bundle) => (bundle.trust = trust.replace("filesystem", "http")),
    "not granted": (bundle) => (bundle.caps = "dispatch: [execute.tool.examples.draft, execute.tool.examples.ask, execute.tool.examples.revise]\n"),
  };
  for (const [name, change] of Object.entries(changes)) {
    const copy = join(scratch, "refused");
    rmSync(copy, { recursive: true, force: true });
    cpSync(join(sites, "approval"), copy, { recursive: true });
    const document = JSON.parse(readFileSync(join(copy, "bundle.json"), "utf8"));
    const component = document.components.find(({ item }) => item === "examples/ask");
    const at = join(copy, component.path, "component.wasm");
    const changed = { component, bytes: readFileSync(at), trust, caps: document.manifest.text };
    change(changed);
    document.trust = changed.trust;
    document.manifest.text = changed.caps;
    writeFileSync(at, changed.bytes);
    writeFileSync(join(copy, "bundle.json"), JSON.stringify(document));
    seal(copy);
    const found = await said(browser, copy);
    assert.ok(found, `${name}: the page runs it`);

    const project = join(scratch, "refused-tree");
    rmSync(project, { recursive: true, force: true });
    cpSync(join(tree, folder), join(project, folder), { recursive: true });
    const wasm = join(project, folder, ".ai/tools/examples/ask.wasm");
    writeFileSync(wasm, changed.bytes);
    if (component.envelope === undefined) rmSync(`${wasm}.dsse.json`);
    else writeFileSync(`${wasm}.dsse.json`, component.envelope);
    writeFileSync(join(project, "trust.yaml"), changed.trust);
    writeFileSync(join(project, folder, "caps.yaml"), changed.caps);
    const words = ["run", join(project, folder, "graph.yaml"), "--caps", join(project, folder, "caps.yaml"), "--trust", join(project, "trust.yaml")];
    const { stderr } = native.call([4, 8], ...words);
    const [first] = found.split("\n");
    assert.ok(flat(stderr).includes(flat(first)), `${name}: the page says\n${found}\nand the command line\n${stderr}`);
    console.log(`${name}: ${first.slice(0, 150)}`);
  }
}
