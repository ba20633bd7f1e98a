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

export async function handover({ native, browser, sites, scratch, tree }) {
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
  // Items, trust and permissions come from the command: those of the page's run count for nothing here.
  const sources = ["--trust", join(tree, "examples/trust.yaml"), "--items", join(tree, "examples/approval/.ai/tools")];
  const replayed = other.json([0], "replay", "asked", ...sources);
  assert.equal(replayed.equal, true);
  const refused = other.json([4], "resume", "asked", "--answer", "accept", ...sources);
  assert.match(refused.error.message, /the manifest of another host/);
  const caps = join(tree, "examples/approval/caps.yaml");
  const told = other.json([0], "resume", "asked", "--answer", "accept", "--caps", caps, ...sources);
  assert.deepEqual(told.output, JSON.parse(ended.output));
  const { history } = other.json([0], "runs", "show", "asked");
  const natively = history.map(({ step, result_digest: result, fuel }) => ({ step: String(step), result, fuel: String(fuel) }));
  assert.deepEqual(natively, ended.checkpoints);
  console.log(`a run of the page: ${replayed.supersteps.length} supersteps replay equal natively, and it ends natively as it does in the page`);
}
