"""A project whose graphs ask language models, and the commands of graph-host in it."""

import json
import math
import os
import pathlib
import signal
import subprocess

ITEM = "me/ask"
VARIABLE = "CHECKED_MODEL_KEY"
APIS = {"openai-chat": "gpt-5", "openai-responses": "gpt-5", "anthropic": "claude-haiku-4-5"}
FIGURES = ("calls", "input_tokens", "output_tokens", "cost")
PRICE = {"input": 1.25, "output": 4}
TASK_LIMITS = {"calls": 50, "input_tokens": 2_000_000, "output_tokens": 200_000, "cost": math.inf}
RUN_LIMITS = {"calls": 1000, "input_tokens": 20_000_000, "output_tokens": 2_000_000, "cost": math.inf}
SECONDS = 120
PATIENCE = 60


def check(condition, *message):
    if not condition:
        raise AssertionError(" ".join(map(str, message)))


def equal(found, expected, what):
    check(found == expected, f"{what}: expected {json.dumps(expected, ensure_ascii=False)}, found {json.dumps(found, ensure_ascii=False)}")


class Project:
    """A folder with the component, which is signed by a key that the user's space trusts, and the provider."""

    def __init__(self, graph_host, folder, provider, key):
        self.graph_host, self.folder, self.provider, self.key = graph_host, pathlib.Path(folder), provider, key
        self.printed = []
        self.runs = 0
        environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
        self.without_key = {**environment, "GRAPH_HOST_HOME": str(self.folder / "home")}
        self.with_key = {**self.without_key, VARIABLE: key}

    def command(self, *words, code=0, key=True, before=(), seconds=SECONDS):
        """Runs a command; `code` is the expected exit code, or several."""
        words = [*before, self.graph_host, *map(str, words)]
        environment = self.with_key if key else self.without_key
        done = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        self.printed += [done.stdout, done.stderr]
        codes = code if isinstance(code, tuple) else (code,)
        said = f"\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        check(done.returncode in codes, f"{' '.join(words)}: expected exit code {code}, found {done.returncode}{said}")
        return done

    def write(self, name, document):
        text = document if isinstance(document, str) else json.dumps(document)
        (self.folder / name).write_text(text)
        return name

    def start(self, graph, caps, *more):
        """Starts a run in the background of this process: its id and its process."""
        self.runs += 1
        run = f"r{self.runs}"
        words = [self.graph_host, "run", self.write(f"{run}.json", graph), "--caps", self.write(f"{run}-caps.json", caps), "--run-id", run, *more]
        process = subprocess.Popen(words, cwd=self.folder, env=self.with_key, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return run, process

    def kill_in_call(self, process, relay, call, release):
        """Kills a host while it waits for the rest of that answer, which the relay holds until `release` is set."""
        try:
            relay.wait_for(call)
            check(relay.exchanges[call - 1].is_held.wait(PATIENCE), "the answer is not held")
        finally:
            process.send_signal(signal.SIGKILL)
            self.printed += process.communicate()
            release.set()

    def run(self, graph, caps, *more, code=0, inputs=None, name=None):
        """Runs a graph to its end: its id and its document. The graph's id follows from the name of its file."""
        self.runs += 1
        run = f"r{self.runs}"
        words = ["run", self.write(f"{name or run}.json", graph), "--caps", self.write(f"{run}-caps.json", caps), "--run-id", run, "--json", *more]
        if inputs is not None:
            words += ["--inputs", self.write(f"{run}-inputs.json", inputs)]
        done = self.command(*words, code=code)
        return run, json.loads(done.stdout.splitlines()[-1] if "--stream" in more else done.stdout)

    def show(self, run):
        return json.loads(self.command("runs", "show", run, "--json").stdout)

    def all_runs(self):
        return [one["run_id"] for one in json.loads(self.command("runs", "list", "--json", "--limit", 10_000).stdout)["runs"]]


def graph(nodes, start="ask"):
    return {"version": "1.0.0", "tool_type": "graph", "executor_id": "graph-host", "category": "checks", "description": "Asks language models.",
            "config": {"start": start, "nodes": nodes}}  # fmt: skip


def asking(item=ITEM, **params):
    """A graph with one node, which asks; its result is the output's `result`."""
    return graph({"ask": {"action": {"item_id": item, "params": params}, "assign": {"result": "${result}"}}})


def spending(*questions, model="m", max_output=None):
    """A graph that asks these questions one after the other."""
    return asking(op="spend", model=model, questions=[{"text": text, "max_output": max_output} for text in questions])


def model(port, api="openai-chat", **more):
    """A model of a manifest."""
    return {"api": api, "url": f"http://127.0.0.1:{port}/v1", "model": APIS[api], "secret": {"env": VARIABLE}, "addresses": ["127.0.0.1"],
            "price": PRICE, **more}  # fmt: skip


def manifest(models, task=None, run=None, item=ITEM, **limits):
    """A manifest that grants a component all these models. `task` and `run` limit their use."""
    document = {"dispatch": [f"execute.tool.{item.replace('/', '.')}"], "models": models, "items": {item: {"model": list(models)}}}
    if task:
        limits["model"] = task
    if limits:
        document["limits"] = limits
    if run:
        document["run"] = {"model": run}
    return document


def cost(price, tokens_in, tokens_out):
    """In millionths; prices are for a million tokens."""
    return math.ceil(tokens_in * price["input"] + tokens_out * price["output"])


def spend(exchanges, price=PRICE):
    """What the requests have cost: each is a call; an answer costs what it says; one that was refused costs nothing more; of all others,
    the host cannot know it, and counts a token for each byte of the request and as many of the answer as the request allows.
    """
    total = dict.fromkeys(FIGURES, 0)
    for exchange in exchanges:
        tokens = (0, 0)
        if exchange.status in (None, 200) or not exchange.is_whole:
            tokens = exchange.usage() if exchange.is_whole else None
            tokens = tokens or (len(exchange.raw), exchange.most)
        total = {name: total[name] + more for name, more in zip(FIGURES, (1, *tokens, cost(price, *tokens)))}
    return total
