// What a page is for those who use it: at work while it runs, accessible, of use offline, and plain about what goes wrong.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { launch, Page } from "./page.mjs";
import { looks } from "./sample.mjs";
import { serve } from "./serve.mjs";

const axe = readFileSync(createRequire(join(process.cwd(), "package.json")).resolve("axe-core/axe.min.js"), "utf8");
const LONGEST_FRAME = 50;

async function on(sites, name, work) {
  const server = await serve(join(sites, name));
  try {
    return await work(`http://localhost:${server.port}/`, server);
  } finally {
    server.close();
  }
}

/** The longest tasks of the thread that draws the page, in milliseconds of processor time: what else the machine does is not counted. */
function longest(trace) {
  const { traceEvents } = JSON.parse(trace.toString("utf8"));
  const threads = traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(({ pid, tid }) => `${pid}/${tid}`);
  const tasks = traceEvents.filter(({ name, pid, tid, tdur }) => name.endsWith("RunTask") && tdur !== undefined && threads.includes(`${pid}/${tid}`));
  return tasks.map(({ tdur }) => tdur / 1000).sort((a, b) => b - a);
}

const TRACED = { categories: ["toplevel", "__metadata"] };

/** A task that is too long is seen: without it, a trace in which nothing is found would pass. */
async function seesLongTasks(browser, page) {
  await browser.startTracing(page.page, TRACED);
  await page.page.evaluate(() => {
    const end = performance.now() + 500;
    while (performance.now() < end);
  });
  const [worst] = longest(await browser.stopTracing());
  assert.ok(worst > LONGEST_FRAME, `the longest task of a page that is busy for 500 ms took ${worst} ms in the trace`);
}

/** No task of the page takes longer than 50 ms while a thousand tasks of a run fan out. */
export const frames = ({ browser, sites }) =>
  on(sites, "nodes/many", async (url) => {
    const items = Array.from({ length: 1000 }, (_, item) => item);
    const page = await Page.open(browser, url);
    await seesLongTasks(browser, page);
    await page.page.evaluate(() => {
      window.frames_drawn = 0;
      const frame = () => {
        window.frames_drawn += 1;
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
    await browser.startTracing(page.page, TRACED);
    const found = await page.run("many", { inputs: { items } });
    const tasks = longest(await browser.stopTracing());
    assert.equal(found.status, "completed");
    assert.deepEqual(JSON.parse(found.output).echoed, items);
    assert.deepEqual(page.errors, []);
    const drawn = await page.page.evaluate(() => window.frames_drawn);
    await page.close();
    const worst = tasks.slice(0, 3).map((task) => task.toFixed(0));
    console.log(`1000 tasks in ${(found.took / 1000).toFixed(1)} s: ${drawn} frames, and of ${tasks.length} tasks of the page the longest ${worst.join(", ")} ms`);
    assert.ok(tasks[0] <= LONGEST_FRAME, `a task of the page took ${tasks[0]} ms of processor time`);
    assert.ok(drawn >= 10, `${drawn} frames were drawn`);
  });

/** Once it is loaded, a page needs no network; without one it says what is missing. */
export const offline = ({ browser, sites }) =>
  on(sites, "approval", async (url) => {
    const page = await Page.open(browser, url);
    await page.context.setOffline(true);
    const found = await page.run("offline", { suspensions: ["accept"] });
    assert.equal(found.status, "completed");
    await page.close();
  });

/** A run goes on after the page was loaded anew, as if it had not been; what was changed in between is refused. */
export const reload = ({ browser, sites }) =>
  on(sites, "approval", async (url) => {
    const whole = await Page.open(browser, url);
    const expected = await whole.run("reload", { suspensions: ["louder", "accept"] });
    await whole.close();
    const page = await Page.open(browser, url);
    await page.run("reload", { suspensions: ["louder"] });
    await page.page.reload();
    await page.page.waitForFunction(() => document.getElementById("loading").hidden);
    await page.page.click("text=Continue");
    await page.stopped();
    await page.page.locator("#answers textarea").fill("accept");
    await page.page.click("#answers [type=submit]");
    await page.stopped();
    const found = await page.result("reload");
    assert.deepEqual(found.checkpoints.at(-1), expected.checkpoints.at(-1));
    assert.deepEqual([found.status, found.output], [expected.status, expected.output]);
    await page.page.click("#verify");
    await page.page.waitForFunction(() => document.getElementById("verified").textContent !== "");
    // One character of one stored record.
    await page.page.evaluate(
      () =>
        new Promise((resolve) => {
          const request = indexedDB.open("graph-host");
          request.onsuccess = () => {
            const records = request.result.transaction("records", "readwrite").objectStore("records");
            records.openCursor().onsuccess = ({ target }) => {
              const record = target.result.value;
              record.record = record.record.replace(/("body":".*?run)/, "$1x");
              target.result.update(record).onsuccess = resolve;
            };
          };
        }),
    );
    await page.page.click("#verify");
    await page.page.waitForFunction(() => !document.getElementById("message").hidden);
    console.log(`a stored record that was changed: ${(await page.message()).split("\n")[0]}`);
    await page.close();
  });

/** A full storage stops a run with words that say what to do. */
export const storage = ({ browser, sites }) =>
  on(sites, "approval", async (url) => {
    const page = await Page.open(browser, url);
    const session = await page.context.newCDPSession(page.page);
    await session.send("Storage.overrideQuotaForOrigin", { origin: url.slice(0, -1), quotaSize: 1 });
    let said;
    try {
      const found = await page.run("full");
      said = `${found.status}: ${found.output}`;
    } catch (error) {
      said = error.message;
    }
    console.log(`storage full: ${said.slice(0, 300)}`);
    assert.match(said, /storage is full/);
    await page.close();
  });

/** Over plain http from elsewhere, nothing is checked and nothing runs. */
export const insecure = ({ sites }) =>
  on(sites, "approval", async (_, server) => {
    const elsewhere = await launch([`--host-resolver-rules=MAP elsewhere.test 127.0.0.1:${server.port}`]);
    try {
      const page = await Page.open(elsewhere, "http://elsewhere.test/");
      assert.match(await page.message(), /only in a secure context/);
      assert.equal(await page.page.locator("#begin").isVisible(), false);
    } finally {
      await elsewhere.close();
    }
  });

/** axe finds nothing, light or dark, at three widths, before a run, at a question and at the end. */
export const accessible = ({ browser, sites, scratch }) =>
  on(sites, "approval", async (url) => {
    const shots = process.env.SCREENSHOTS ?? join(scratch, "screenshots");
    mkdirSync(shots, { recursive: true });
    let checked = 0;
    for (const { colorScheme, width } of looks()) {
      const page = await Page.open(browser, url, { colorScheme, viewport: { width, height: 800 }, bypassCSP: true });
      const look = async (at) => {
        await page.page.screenshot({ path: join(shots, `${at}-${width}-${colorScheme}.png`), fullPage: true });
        await page.page.evaluate(axe);
        const { violations } = await page.page.evaluate(() => window.axe.run());
        assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), [], `${at}, ${width}, ${colorScheme}`);
        const wide = await page.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wide <= 0, `${at}, ${width}: the page is ${wide} pixels too wide`);
        checked += 1;
      };
      await look("plan");
      await page.run("shown");
      await look("question");
      for (const answer of ["accept"]) {
        await page.page.locator("#answers textarea").fill(answer);
        await page.page.click("#answers [type=submit]");
        await page.stopped();
      }
      await look("result");
      await page.close();
    }
    console.log(`axe finds nothing in ${checked} states (FULL=1: each width light and dark)`);
  });
