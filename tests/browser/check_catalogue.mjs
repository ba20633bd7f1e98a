// A catalogue, as `graph-host registry index` writes it: from a server and from a file, with the script and without it.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

import { Native } from "./native.mjs";
import { looks } from "./sample.mjs";
import { serve } from "./serve.mjs";

const axe = readFileSync(createRequire(join(process.cwd(), "package.json")).resolve("axe-core/axe.min.js"), "utf8");

const GRAPH = `version: "1.0.0"
tool_type: graph
executor_id: graph-host
category: tests
description: "A </script><script>window.hostile = true</script> greeting, with \\u202e and a text that is long enough to be wrapped on a narrow screen"
config_schema:
  type: object
  required: [name]
  properties: { name: { type: string } }
config:
  start: greet
  nodes:
    greet: { assign: { greeting: "Hello, \${inputs.name}" } }
`;

/** A layout with a component, a graph and knowledge, of which the knowledge is signed by somebody else. */
function catalogue({ binary, root, scratch }) {
  const native = new Native(binary);
  native.env = { GRAPH_HOST_HOME: join(scratch, "publisher") };
  const at = (path) => join(native.folder, path);
  mkdirSync(at(".ai/tools/examples"), { recursive: true });
  mkdirSync(at(".ai/knowledge/t"), { recursive: true });
  writeFileSync(at(".ai/tools/examples/greet.yaml"), GRAPH);
  writeFileSync(at(".ai/knowledge/t/note.md"), "---\ntitle: A note\nversion: 2.0.0\n---\nText.\n");
  const kit = "examples/nodes/.ai/tools/examples/testkit.wasm";
  for (const path of [kit, `${kit}.dsse.json`]) cpSync(join(root, path), at(`.ai/tools/examples/${path.slice(dirname(kit).length + 1)}`));
  const trust = ["--trust", join(root, "examples/trust.yaml")];
  for (const name of ["one", "other"]) {
    native.call([0], "keys", "generate", name);
    native.call([0], "trust", "add", name, "--key", name, "--items", "*");
  }
  native.call([0], "sign", ".ai/tools/examples/greet.yaml", "--key", "one");
  native.call([0], "sign", ".ai/knowledge/t/note.md", "--key", "other");
  native.call([0], "publish", "examples/testkit", "examples/greet", "t/note", "oci-layout:out", ...trust);
  native.call([0], "trust", "remove", "other");
  const site = join(scratch, "catalogue");
  native.call([0], "registry", "index", "oci-layout:out", "-o", site, ...trust);
  // The assets of the tree, and not those that were built into the command line.
  cpSync(join(root, "host/catalogue/assets"), join(site, "assets"), { recursive: true });
  return site;
}

async function open(browser, url, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const errors = [];
  const requests = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(url);
  return { page, errors, requests, close: () => context.close() };
}

const shown = (page) => page.locator("#items > li:visible h3").allTextContents();

async function searches(browser, url) {
  const opened = await open(browser, url);
  const { page } = opened;
  assert.equal(await page.locator("#items > li").count(), 3);
  // The keyboard alone.
  await page.keyboard.press("/");
  await page.keyboard.type("testkit");
  assert.deepEqual(await shown(page), ["examples/testkit"]);
  assert.equal(await page.textContent("#found"), "1 of 3 items");
  await page.reload();
  assert.equal(await page.inputValue("#query"), "testkit", "a search is back after a reload");
  assert.deepEqual(await shown(page), ["examples/testkit"]);
  await page.focus("#query");
  await page.keyboard.press("Escape");
  assert.equal((await shown(page)).length, 3);
  await page.selectOption("#kind", "knowledge");
  assert.deepEqual(await shown(page), ["t/note"]);
  await page.check("#trusted");
  assert.deepEqual(await shown(page), []);
  await page.selectOption("#kind", "");
  assert.equal((await shown(page)).length, 2);
  await page.click("#items li:visible a");
  await page.click("main section a");
  assert.match(await page.textContent("h1"), /1\.0\.0|0\.1\.0/);
  assert.equal(await page.evaluate(() => window.hostile), undefined);
  assert.deepEqual(opened.errors, []);
  const origin = new URL(url).origin;
  for (const request of opened.requests) assert.ok(new URL(request).origin === origin || request.startsWith("data:"), request);
  await opened.close();
}

/** The list filters, from a server and from a file; without the script all of it is there; axe finds nothing, light or dark, at three widths. */
export async function catalogues({ native, browser, root, scratch }) {
  const site = catalogue({ binary: native.binary, root, scratch });
  const server = await serve(site);
  const url = `http://localhost:${server.port}/`;
  const shots = process.env.SCREENSHOTS ?? join(scratch, "screenshots");
  mkdirSync(shots, { recursive: true });
  try {
    await searches(browser, `${url}index.html`);
    await searches(browser, pathToFileURL(join(site, "index.html")).href);
    const bare = await open(browser, `${url}index.html`, { javaScriptEnabled: false });
    assert.equal((await shown(bare.page)).length, 3);
    assert.equal(await bare.page.locator("#search").isVisible(), false);
    await bare.close();

    const { items } = JSON.parse(readFileSync(join(site, "catalogue.json"), "utf8"));
    const pages = ["index.html", items[0].page, ...items.flatMap(({ versions }) => versions.map(({ page }) => page))];
    let checked = 0;
    for (const { colorScheme, width } of looks()) {
      for (const [number, path] of pages.entries()) {
        const opened = await open(browser, url + path, { colorScheme, viewport: { width, height: 800 }, bypassCSP: true });
        const { page } = opened;
        await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
        await page.screenshot({ path: join(shots, `catalogue-${number}-${width}-${colorScheme}.png`), fullPage: true });
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run());
        assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), [], `${path}, ${width}, ${colorScheme}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wide <= 0, `${path}, ${width}: the page is ${wide} pixels too wide`);
        assert.deepEqual(opened.errors, [], path);
        await opened.close();
        checked += 1;
      }
    }
    console.log(`a catalogue of ${items.length} items: axe finds nothing in ${checked} states (FULL=1: each width light and dark)`);
  } finally {
    server.close();
  }
}
