"""Runs whose host is killed while it waits for an answer, and replays."""

import json
import shutil
import signal
import subprocess
import threading

from project import ITEM, PATIENCE, check, equal, graph, manifest, model, spend, spending

USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30, "input_tokens": 20, "output_tokens": 10}
TEXT = "An answer that takes some time to arrive."
# What the component says before each question, and what it says after the test has changed it.
SAID, CHANGED = b"Answer in one sentence.", b"Answer in five letters."


def killed_and_resumed(project, api, durability, after, call):
    """Kills the host when that call has been sent so many bytes of its answer, in parts of the whole; then resumes the run."""
    provider = project.provider
    provider.script({"match": {}, "response": {"content": TEXT, "usage": USAGE}, "chunkSize": 5})
    relay = provider.scripted
    caps = manifest({"m": model(relay.port, api)}, timeout="60s")
    project.run(spending("Hello"), caps)
    length = len(relay.take()[0].answer)
    release = threading.Event()
    relay.faults = [None] * (call - 1) + [{"hold": release, "after": round(length * after)}]
    run, process = project.start(spending("One", "Two", "Three", max_output=50), caps, "--durability", durability)
    project.kill_in_call(process, relay, call, release)
    document = json.loads(project.command("resume", run, "--json").stdout)
    equal(document["status"], "completed", "the status of the resumed run")
    texts = [answer["text"] for answer in document["output"]["result"]["answers"]]
    equal(texts, [TEXT] * 3, "the answers")
    exchanges = relay.take()
    equal(len(provider.journal()), len(exchanges) + 1, "requests in aimock's journal, and the one before the run")
    shown = project.show(run)["model"]
    # Either the paid answer was kept, or the repeated request is counted. Before the request that was cut off, answers may be kept, too.
    equal(shown["calls"], len(exchanges), "calls, of requests that the provider got")
    equal(shown, spend(exchanges), "what was spent")
    project.command("replay", run)
    project.command("runs", "verify", run)


def killed_in_a_hook(project, event):
    """Kills the host during the second call of a hook; then resumes the run, which asks the hook again."""
    provider = project.provider
    provider.script({"match": {}, "response": {"content": TEXT, "usage": USAGE}, "chunkSize": 5})
    relay = provider.scripted
    params = {"op": "spend", "model": "m", "questions": [{"text": text, "max_output": 50} for text in ("One", "Two")]}
    # Params that the component does not take fail the task without a request.
    failing = {"action": {"item_id": ITEM, "params": {"op": "${inputs.nothing}"}}} if event == "error" else {}
    document = graph({"a": {**failing, "assign": {"n": 1}}}, "a")
    hooks = [{"id": "asks", "event": event, "action": {"item_id": ITEM, "params": params}}]
    document["config"]["hooks"] = [*hooks, {"id": "goes_on", "event": "error", "action": {"continue": True}}]
    release = threading.Event()
    relay.faults = [None, {"hold": release, "after": 20}]
    run, process = project.start(document, manifest({"m": model(relay.port)}, timeout="60s"), "--durability", "sync")
    project.kill_in_call(process, relay, 2, release)
    project.command("resume", run, "--json")
    exchanges = relay.take()
    equal([one.question for one in exchanges], ["One", "Two"] * 2, "the questions")
    equal(project.show(run)["model"], spend(exchanges), "what was spent")
    project.command("replay", run)
    project.command("runs", "verify", run)


def overdue(project, kills, in_hook):
    """The deadline of a child run passes while a task asks, or a hook about a failure: what was set aside counts, and a replay counts it,
    too. `kills`: how often the host was killed before, while it waited for the answer."""
    provider = project.provider
    provider.script({"match": {}, "response": {"content": TEXT, "usage": USAGE}, "chunkSize": 5})
    relay = provider.scripted
    params = {"op": "spend", "model": "m", "questions": [{"text": "One", "max_output": 50}]}
    asks = {"item_id": ITEM, "params": params}
    child = graph({"a": {"action": {"item_id": ITEM, "params": {"op": "${inputs.nothing}"}} if in_hook else asks}}, "a")
    if in_hook:
        child["config"]["hooks"] = [{"id": "asks", "event": "error", "action": asks}]
    (project.folder / ".ai/tools/checks").mkdir(parents=True, exist_ok=True)
    project.write(".ai/tools/checks/overdue.yaml", child)
    document = graph({"run": {"action": {"item_id": "checks/overdue"}, "timeout": "3s", "on_error": "late"}, "late": {"type": "return"}}, "run")
    caps = manifest({"m": model(relay.port)}, timeout="60s")
    caps["dispatch"].append("execute.tool.checks.overdue")
    release = threading.Event()
    relay.faults = [{"hold": release, "after": 20}] * (kills + 1)
    run, process = project.start(document, caps, "--durability", "sync")
    try:
        if kills > 0:
            relay.wait_for(1)
            check(relay.exchanges[0].is_held.wait(PATIENCE), "the answer is not held")
            process.send_signal(signal.SIGKILL)
        project.printed += process.communicate(timeout=PATIENCE)
        for _ in range(kills):
            project.command("resume", run)
    finally:
        process.kill()
        release.set()
    equal(process.returncode, 0 if kills == 0 else -signal.SIGKILL, "the exit code")
    shown = project.show(run)["model"]
    equal((shown["calls"], shown["output_tokens"]), (kills + 1, 50 * (kills + 1)), "calls and tokens that were set aside")
    project.command("replay", run)
    project.command("runs", "verify", run)


def stopped_and_resumed(project):
    """An answer adds nothing to a budget, which ends the run; the resumed run asks again, and is given more."""
    provider = project.provider
    provider.script({"match": {}, "response": {"content": TEXT, "usage": USAGE}})
    relay = provider.scripted
    caps = manifest({"m": model(relay.port)}, run={"calls": 1, "when_used_up": "ask"})
    run, _ = project.run(spending("One", "Two"), caps, code=6)
    project.command("resume", run, "--answer", "stop", code=7)
    project.command("replay", run)
    project.command("resume", run, code=6)
    project.command("resume", run, "--answer", "2")
    exchanges = relay.take()
    # What was answered before the first question is asked again.
    equal([one.question for one in exchanges], ["One", "One", "Two"], "the questions")
    equal(project.show(run)["model"], spend(exchanges), "what was spent")
    listed = {row["run_id"]: row for row in json.loads(project.command("runs", "list", "--json").stdout)["runs"]}[run]
    equal(listed["turns"], len(exchanges), "calls in the list of runs")
    project.command("replay", run)
    project.command("runs", "verify", run)


def rows(project):
    def kill(api, durability, after, call):
        return lambda: killed_and_resumed(project, api, durability, after, call)

    places = {"before its answer": 0, "in the midst of its answer": 0.6}
    for name, after in places.items():
        for api, durability, call in (("openai-chat", "sync", 1), ("anthropic", "async", 2), ("openai-responses", "sync", 3)):
            yield f"killed during call {call}, {name}, {api}, {durability}: no request is hidden", kill(api, durability, after, call)

    def kill_in_a_hook(event):
        return lambda: killed_in_a_hook(project, event)

    for event in ("after_step", "error", "graph_completed"):
        yield f"killed while a hook asks, {event}: no request is hidden", kill_in_a_hook(event)

    yield "a budget that is not raised, and raised later: a replay is equal", lambda: stopped_and_resumed(project)

    def late(kills, in_hook):
        return lambda: overdue(project, kills, in_hook)

    for who, in_hook in (("a task", False), ("a hook about a failure", True)):
        for kills, before in ((0, ""), (1, ", after the host was killed while it asked")):
            yield f"a deadline while {who} asks{before}: a replay counts what was set aside", late(kills, in_hook)

    def changed_component():
        """Another component in place of the one that the run was made with asks something else."""
        provider = project.provider
        provider.script({"match": {}, "response": {"content": TEXT, "usage": USAGE}})
        run, _ = project.run(spending("Hello"), manifest({"m": model(provider.scripted.port)}))
        requests = len(provider.scripted.take())
        path = project.folder / f".ai/tools/{ITEM}.wasm"
        statement = path.with_name(path.name + ".dsse.json")
        kept = path.read_bytes(), statement.read_bytes()
        equal((kept[0].count(SAID), len(SAID)), (1, len(CHANGED)), "the text in the component")
        try:
            path.write_bytes(kept[0].replace(SAID, CHANGED))
            project.command("sign", path, "--key", "me", "--version", "0.1.0")
            done = project.command("replay", run, "--json", code=8)
            said = done.stdout + done.stderr
            check(ITEM in said, f"expected the changed component in {said}")
            for text in (SAID, CHANGED):
                check(text.decode() in said, f"expected {text.decode()!r} in the difference: {said}")
        finally:
            path.write_bytes(kept[0])
            statement.write_bytes(kept[1])
        equal((requests, len(provider.scripted.take())), (1, 0), "requests of the run and of its replay")
        project.command("replay", run)

    yield "replay with a component that asks something else: it fails with the difference", changed_component

    def larger_budget():
        """A run whose task has too small a budget continues with a larger one, and is replayed as it was."""
        provider = project.provider
        provider.script({"match": {}, "response": {"content": TEXT, "usage": USAGE}})

        def two(*questions):
            nodes = {}
            for name, texts in (("first", ["Hello"]), ("ask", questions)):
                params = {"op": "spend", "model": "m", "questions": [{"text": text, "max_output": 50} for text in texts]}
                nodes[name] = {"action": {"item_id": ITEM, "params": params}, "assign": {name: "${result}"}}
            nodes["first"]["next"] = "ask"
            return graph(nodes, "first")

        one = {"m": model(provider.scripted.port)}
        run, document = project.run(two("Why?", "Why?"), manifest(one, task={"calls": 1}), code=5)
        equal((document["error"]["category"], document["error"]["node"]), ("limit", "ask"), "what has failed")
        project.write(f"{run}-caps.json", manifest(one, task={"calls": 2}))
        refused = project.command("resume", run, "--json", code=(4, 8))
        check("--accept-changes" in refused.stdout + refused.stderr, f"expected how to accept the change in {refused.stdout}")
        equal(len(provider.scripted.exchanges), 2, "requests until then")
        project.command("resume", run, "--accept-changes", "--json")
        exchanges = provider.scripted.take()
        equal([one.question for one in exchanges], ["Hello", "Why?", "Why?", "Why?"], "the questions")
        equal(project.show(run)["model"], spend(exchanges), "what was spent")
        project.command("replay", run)

    yield "resume with a larger budget, and replay", larger_budget


def replays(project):
    """Last, with the provider stopped, without the key and without a network: every run is replayed."""
    runs = project.all_runs()
    check(len(runs) > 50, f"there are {len(runs)} runs")
    isolated = ["unshare", "-rn"] if shutil.which("unshare") and subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0 else []
    different = []
    for run in runs:
        done = project.command("replay", run, "--json", code=(0, 8), key=False, before=isolated)
        if not json.loads(done.stdout).get("equal"):
            different.append(f"{run}: {done.stdout[-600:]} {done.stderr[-600:]}")
    check(not different, f"{len(different)} of {len(runs)} replays differ:", "\n".join(different[:5]))
    print(f"    {len(runs)} runs are replayed{' without a network' if isolated else ', with a network: no namespace of its own is permitted here'}")


