// The page: it sends requests to the worker with the walker, and shows its messages.

import { PageFetches } from "./page_fetch";
import type { PageRequest, Step, WorkerMessage } from "./host";
import type { AskedSecret, Plan } from "./opening";
import { printable } from "./json";
import { ReplayView } from "./replay_view";
import { line } from "./steps";

/** Limit of steps that are shown; older ones are removed. */
const STEPS = 200;
/** Number of steps that a frame adds. */
const A_FRAME = 20;

/** Ids of interrupts before or after a node, which ask nothing. */
const PAUSE = /(^|\/)\d+\/(before|after)\/[^/]+$/;

const at = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

function element(name: string, text: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = printable(text);
  return made;
}

function row(...cells: string[]): HTMLElement {
  const made = document.createElement("tr");
  made.append(...cells.map((cell) => element("td", cell)));
  return made;
}

function say(message: string): void {
  at("message").textContent = printable(message);
  at("message").hidden = message === "";
}

/** Starts the worker of the run. A worker of a `blob:` URL inherits the Content Security Policy of this page, whatever the server sends with
 * its files; one of an address has the policy of that response, which is none. */
function startWorker(): Worker {
  const script = `import ${JSON.stringify(new URL("worker.js", import.meta.url).href)};`;
  return new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })), { type: "module" });
}

class Page {
  private readonly worker = startWorker();
  private begun = false;
  private run = "";
  private pending: string[] = [];
  private framed = false;
  private readonly fetches = new PageFetches((outcome) => this.request(outcome));
  private readonly replay = new ReplayView((request) => {
    say("");
    this.busy(true);
    this.request(request);
  });

  constructor(base: string) {
    this.worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => this.onMessage(data);
    this.worker.onerror = (event) => say(`the worker of this page has failed: ${event.message}`);
    this.request({ wish: "open", base });
    at<HTMLFormElement>("start").onsubmit = (event) => {
      event.preventDefault();
      this.start(at<HTMLInputElement>("name").value, (run) => ({ wish: "run", run, inputs: at<HTMLTextAreaElement>("inputs").value || "{}" }));
    };
    at("cancel").onclick = () => this.request({ wish: "cancel" });
    at("verify").onclick = () => this.request({ wish: "verify", run: this.run });
    at("export-key").onclick = () => this.request({ wish: "key" });
    at("export").onclick = () => this.request({ wish: "export", run: this.run });
  }

  private request(request: PageRequest): void {
    this.worker.postMessage(this.begun ? request : { role: "host", wish: request });
    this.begun = true;
  }

  private start(run: string, request: (run: string) => PageRequest): void {
    say("");
    this.run = run;
    this.pending = [];
    at("steps").replaceChildren();
    at("checkpoints").replaceChildren();
    at("verified").textContent = "";
    at("stream").hidden = false;
    at("result").hidden = true;
    at("questions").hidden = true;
    this.busy(true);
    this.request(request(run));
  }

  private busy(busy: boolean): void {
    at<HTMLButtonElement>("cancel").disabled = !busy;
    for (const button of document.querySelectorAll<HTMLButtonElement>("#start [type=submit], #runs button")) button.disabled = busy;
    this.replay.busy(busy);
  }

  private onMessage(message: WorkerMessage): void {
    switch (message.news) {
      case "opened":
        return this.opened(message.plan, message.runs);
      case "fetch":
      case "give up":
        return this.fetches.take(message);
      case "refused":
        at("loading").hidden = true;
        this.busy(false);
        this.replay.refused();
        return say(message.message);
      case "steps":
        return this.steps(message.steps);
      case "checkpoint": {
        const { namespace, step, result, fuel } = message.checkpoint;
        at("checkpoints").append(row(namespace || this.run, step, fuel, result));
        return;
      }
      case "stopped":
        return this.stopped(message.status, message.summary);
      case "exported":
        return this.save(message.name, message.text);
      case "verified":
        at("verified").textContent = `${message.records} records: signatures, links and digests are right.`;
        return;
      case "replaying":
        return this.replay.began(message.run, message.key);
      case "replayed":
        return this.replay.step(message.step);
      case "replay ended":
        this.busy(false);
        return this.replay.ended(message.summary);
      case "removed":
        return this.runs(message.runs);
    }
  }

  private opened(plan: Plan, runs: { run: string; status: string }[]): void {
    at("loading").hidden = true;
    at("graph").textContent = printable(plan.graph);
    document.title = `${printable(plan.graph)} – graph-host`;
    at("description").textContent = printable(plan.description);
    at("key").textContent = plan.key.id;
    at("public").textContent = plan.key.public;
    at("unchecked").replaceChildren(...plan.unchecked.map((one) => element("li", `not checked here: ${one}`)));
    at("folders").replaceChildren(...plan.folders.map((folder, place) => this.folder(folder, place)));
    // Fields of secrets are kept, since the plan is shown again after each choice of a folder.
    if (at("secrets").childElementCount !== plan.secrets.length) at("secrets").replaceChildren(...plan.secrets.map((secret, place) => this.secret(secret, place)));
    at("files").textContent = String(plan.files);
    at("problems").replaceChildren(...plan.problems.map((problem) => element("li", problem)));
    at("items").replaceChildren(
      ...plan.items.map(({ item, nodes, interfaces, folders, signers }) =>
        row(item, nodes.join(", "), interfaces.join(", ") || "–", folders.join(", ") || "–", signers.join(", ") || "not signed"),
      ),
    );
    at("plan").hidden = false;
    at("begin").hidden = plan.problems.length > 0 || plan.folders.length > 0;
    this.replay.offer(plan.replayable, !at("begin").hidden);
    at<HTMLInputElement>("name").value = `run-${Date.now().toString(36)}`;
    at<HTMLTextAreaElement>("inputs").value = plan.exampleInputs;
    this.runs(runs);
  }

  /** Creates a field that grants the files of a folder for reading. */
  private folder(folder: string, place: number): HTMLElement {
    const field = document.createElement("div");
    const label = element("label", `Folder to be read as ${folder}`) as HTMLLabelElement;
    const input = document.createElement("input");
    input.type = "file";
    input.id = label.htmlFor = `folder-${place}`;
    input.webkitdirectory = true;
    input.onchange = () => {
      const files = Array.from(input.files ?? [], (file): [string, File] => [file.webkitRelativePath.split("/").slice(1).join("/"), file]);
      this.request({ wish: "grant", folder, files });
    };
    field.append(label, input);
    return field;
  }

  /** Creates a field for the value of a secret, which is only held in memory, and only sent to its host. */
  private secret({ name, host, model }: AskedSecret, place: number): HTMLElement {
    const field = document.createElement("div");
    const label = element("label", `${model === undefined ? `Secret ${name}` : `Key of the model ${model}`}, sent to ${host} only, and not stored`) as HTMLLabelElement;
    const input = document.createElement("input");
    input.type = "password";
    input.autocomplete = "off";
    input.id = label.htmlFor = `secret-${place}`;
    input.oninput = () => this.request({ wish: "secret", name, value: input.value });
    field.append(label, input);
    return field;
  }

  private runs(runs: { run: string; status: string }[]): void {
    at("runs-title").hidden = runs.length === 0;
    const button = (text: string, run: string, press: () => void): HTMLElement => {
      const made = element("button", text) as HTMLButtonElement;
      made.type = "button";
      made.setAttribute("aria-label", printable(`${text} ${run}`));
      made.onclick = press;
      return made;
    };
    at("runs").replaceChildren(
      ...runs.map(({ run, status }) => {
        const entry = element("li", `${run} (${status})`);
        entry.append(
          button("Continue", run, () => this.start(run, () => ({ wish: "continue", run }))),
          button("Export", run, () => this.request({ wish: "export", run })),
          button("Remove", run, () => this.request({ wish: "remove", run })),
        );
        return entry;
      }),
    );
  }

  private steps(steps: Step[]): void {
    // Only the last steps are shown.
    for (const step of steps.slice(-STEPS)) {
      const text = "notice" in step ? line(step.notice) : `${step.node} ${step.line.level}: ${step.line.message}`;
      if (text !== undefined) this.pending.push(text);
    }
    this.pending = this.pending.slice(-STEPS);
    if (this.framed) return;
    this.framed = true;
    requestAnimationFrame(() => this.frame());
  }

  private frame(): void {
    const steps = at("steps");
    steps.append(...this.pending.splice(0, A_FRAME).map((text) => element("li", text)));
    while (steps.childElementCount > STEPS) steps.firstElementChild?.remove();
    this.framed = this.pending.length > 0;
    if (this.framed) requestAnimationFrame(() => this.frame());
  }

  private stopped(status: string, text: string): void {
    this.busy(false);
    interface Summary {
      output: unknown;
      state: unknown;
      error: { message?: string } | null;
      fuel: number;
      interrupts: { id: string; node?: string; payload?: unknown }[];
    }
    const summary = JSON.parse(text) as Summary;
    at("status").textContent = printable(status);
    at("fuel").textContent = String(summary.fuel);
    at("output").textContent = printable(JSON.stringify(summary.error ?? summary.output ?? summary.state, null, 2));
    at("result").hidden = false;
    this.ask(summary.interrupts);
    at(summary.interrupts.length > 0 ? "questions-title" : "result-title").focus();
  }

  private ask(interrupts: { id: string; node?: string; payload?: unknown }[]): void {
    at("questions").hidden = interrupts.length === 0;
    const isQuestion = ({ id }: { id: string }): boolean => !PAUSE.test(id);
    const fields = interrupts.map(({ id, node, payload }, place) => {
      const field = document.createElement("div");
      if (!isQuestion({ id })) {
        field.append(element("p", `The run pauses at ${node ?? "a node"}.`));
        return field;
      }
      const label = element("label", `${node ?? "Question"}: answer, as JSON or as text`) as HTMLLabelElement;
      const input = document.createElement("textarea");
      input.id = `answer-${place}`;
      input.name = id;
      input.rows = 2;
      input.required = true;
      label.htmlFor = input.id;
      const until = expiredAt(payload);
      const asked = element("pre", typeof payload === "string" ? payload : JSON.stringify(payload, null, 2));
      asked.tabIndex = 0;
      asked.setAttribute("role", "region");
      asked.setAttribute("aria-label", `Question ${place + 1}`);
      if (until !== undefined) {
        // The question accepts no answer: the run continues without one.
        field.append(asked, element("p", `This question expired at ${until.toLocaleString()}. ${EXPIRED}`));
        return field;
      }
      field.append(asked, label, input);
      return field;
    });
    const send = element("button", interrupts.some((asked) => isQuestion(asked) && expiredAt(asked.payload) === undefined) ? "Answer" : "Continue") as HTMLButtonElement;
    send.type = "submit";
    const buttons = document.createElement("div");
    buttons.className = "buttons";
    buttons.append(send);
    const form = at<HTMLFormElement>("answers");
    form.replaceChildren(...fields, buttons);
    form.onsubmit = (event) => {
      event.preventDefault();
      const answers: Record<string, string> = {};
      for (const input of form.querySelectorAll("textarea")) answers[input.name] = input.value;
      at("questions").hidden = true;
      this.busy(true);
      this.request({ wish: "answer", answers });
    };
  }

  private save(name: string, text: string): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

const EXPIRED = "No answer counts any more: its default is used when the run continues, or its node fails.";

/** Returns the deadline of a question of an `ask` node, if it has passed. */
function expiredAt(payload: unknown): Date | undefined {
  const { type, until } = (typeof payload === "object" && payload !== null ? payload : {}) as { type?: unknown; until?: unknown };
  const at = type === "ask" && typeof until === "string" ? new Date(until) : undefined;
  return at !== undefined && at.getTime() <= Date.now() ? at : undefined;
}

if (isSecureContext) new Page(new URL(".", location.href).href);
else {
  at("loading").hidden = true;
  say("This page checks signatures and runs components, which browsers allow only in a secure context. Open it over https, or from this computer as http://localhost.");
}
