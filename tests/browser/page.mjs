// A page in Chromium, used as a person does.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const find = createRequire(join(process.cwd(), "package.json")).resolve;
const { default: playwright } = await import(pathToFileURL(find("playwright-core")).href);

export const launch = (args = []) =>
  playwright.chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", ...args] });

export class Page {
  static async open(browser, url, options = {}) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const opened = new Page(context, page);
    page.on("console", (message) => message.type() === "error" && opened.errors.push(message.text()));
    page.on("pageerror", (error) => opened.errors.push(String(error)));
    await page.goto(url);
    await page.waitForFunction(() => document.getElementById("loading")?.hidden === true, null, { timeout: 60_000 });
    return opened;
  }

  constructor(context, page) {
    Object.assign(this, { context, page, errors: [] });
  }

  text(selector) {
    return this.page.evaluate((of) => document.querySelector(of)?.textContent ?? "", selector);
  }

  async message() {
    return (await this.page.locator("#message").isVisible()) ? this.text("#message") : "";
  }

  problems() {
    return this.page.locator("#problems li").allTextContents();
  }

  async stopped() {
    await this.page.waitForFunction(
      () => document.getElementById("cancel").disabled && (!document.getElementById("result").hidden || !document.getElementById("message").hidden),
      null,
      { timeout: 120_000 },
    );
    const message = await this.message();
    if (message) throw new Error(`the page says: ${message}; ${this.errors.join("; ")}`);
  }

  async run(run, { inputs = {}, text, suspensions = [] } = {}) {
    const began = performance.now();
    await this.page.fill("#name", run);
    await this.page.fill("#inputs", text ?? JSON.stringify(inputs));
    await this.page.click("#start [type=submit]");
    await this.stopped();
    for (const answer of suspensions) {
      for (const field of await this.page.locator("#answers textarea").all()) await field.fill(answer);
      await this.page.click("#answers [type=submit]");
      await this.stopped();
    }
    return { ...(await this.result(run)), took: performance.now() - began };
  }

  async result(run) {
    const rows = await this.page.evaluate(() =>
      Array.from(document.querySelectorAll("#checkpoints tr"), (row) => Array.from(row.cells, (cell) => cell.textContent)),
    );
    const checkpoints = rows.filter(([of]) => of === run).map(([, step, fuel, result]) => ({ step, result, fuel }));
    return { status: await this.text("#status"), output: await this.text("#output"), fuel: await this.text("#fuel"), checkpoints };
  }

  close() {
    return this.context.close();
  }
}
