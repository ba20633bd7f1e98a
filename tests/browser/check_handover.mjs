// A run of the page goes on natively: it is taken over with the page's key, verified, replayed and resumed.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Native } from "./native.mjs";
import { Page } from "./page.mjs";
import { serve } from "./serve.mjs";

async function download(page, button, to) {
  const [download] = await Promise.all([page.page.waitForEvent("download"), page.page.click(button)]);
  await download.saveAs(to);
}

export async function handover({ native, browser, sites, scratch }) {
  const server = await serve(join(sites, "approval"));
  const page = await Page.open(browser, `http://localhost:${server.port}/`);
  const [file, key, changed] = ["run.jsonl", "key.pem", "changed.jsonl"].map((name) => join(scratch, name));
  const asked = await page.run("asked", { suspensions: ["louder"] });
  await download(page, "#export", file);
  await download(page, "#export-key", key);
  // The same to its end, to know what has to come of it.
  await page.page.locator("#answers textarea").fill("accept");
  await page.page.click("#answers [type=submit]");
  await page.stopped();
  const ended = await page.result("asked");
  await page.close();
  server.close();
  assert.equal(asked.status, "interrupted");

  const other = new Native(native.binary);
  const text = readFileSync(file, "utf8");
  writeFileSync(changed, text.replace('"step":1', '"step":2'));
  other.call([8], "runs", "import", changed, "--identity", key);
  writeFileSync(changed, text.slice(0, -200));
  other.call([8], "runs", "import", changed, "--identity", key);
  other.call([0], "runs", "import", file, "--identity", key);
  other.call([0], "runs", "verify", "asked");
  const replayed = other.json([0], "replay", "asked");
  assert.equal(replayed.equal, true);
  const told = other.json([0], "resume", "asked", "--answer", "accept");
  assert.deepEqual(told.output, JSON.parse(ended.output));
  const { history } = other.json([0], "runs", "show", "asked");
  const natively = history.map(({ step, result_digest: result, fuel }) => ({ step: String(step), result, fuel: String(fuel) }));
  assert.deepEqual(natively, ended.checkpoints);
  console.log(`a run of the page: ${replayed.supersteps.length} supersteps replay equal natively, and it ends natively as it does in the page`);
}
