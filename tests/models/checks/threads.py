"""Directives that models carry out as threads: limits over several messages, and threads that a graph of Rye starts and waits for."""

import json
import threading

from project import check, equal, graph, model, spend

THREAD, TURN = "rye/agent/threads/thread_directive", "rye/agent/turn"
ORCHESTRATOR = "rye/agent/threads/orchestrator"
DIRECTIVE = """# One

```xml
<directive name="one" version="1.0.0">
  <metadata>
    <description>Answers.</description>
    <model tier="m" />
    <limits tokens="4000" />
  </metadata>
  <inputs><input name="about" type="string">What it is about</input></inputs>
</directive>
```

Say something about {input:about}.
"""


def caps(port):
    return {
        "dispatch": ["execute.tool.rye.*", "execute.directive.t.*"],
        "models": {"m": model(port, max_output=100)},
        "items": {TURN: {"model": ["m"], "limits": {"timeout": "60s"}}},
    }


def usage(tokens_in, tokens_out):
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def directive(project):
    folder = project.folder / ".ai/directives/t"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "one.md").write_text(DIRECTIVE)


def rows(project):
    def messages():
        directive(project)
        provider = project.provider
        provider.script({"match": {}, "response": {"content": "It is wide.", "usage": usage(2900, 20)}})
        relay = provider.scripted
        project.runs += 1
        run = f"r{project.runs}"
        given = ("--caps", project.write(f"{run}-caps.json", caps(relay.port)))
        inputs = project.write(f"{run}-inputs.json", {"directive_name": "t/one", "inputs": {"about": "the sea"}})
        first = json.loads(project.command("run", THREAD, *given, "--inputs", inputs, "--run-id", run, "--json").stdout)["output"]
        equal((first["status"], first["result"]), ("completed", "It is wide."), "the first answer")
        # About 1080 of 4000 tokens are left, and a token is set aside for each byte.
        second = json.loads(project.command("resume", run, "--input", f"message=Much more{' and more' * 150}", "--json").stdout)["output"]
        equal((second["status"], second["category"], second["cost"]["input_tokens"]), ("error", "limit", 2900), "the second answer")
        check("1080 of `limits.tokens`, 4000, are left" in second["error"], second["error"])
        exchanges = relay.take()
        equal(len(exchanges), 1, "requests")
        equal(project.show(run)["model"], spend(exchanges), "what was spent")
        # What fits continues the conversation, with all that was said before.
        third = json.loads(project.command("resume", run, "--input", "message=And?", "--input", 'limit_overrides={"tokens": 20000}', "--json").stdout)["output"]
        equal((third["status"], third["cost"]["turns"], third["cost"]["input_tokens"]), ("completed", 2, 5800), "the third answer")
        said = relay.take()[0]
        equal([message["role"] for message in said.body["messages"]], ["user", "assistant", "user"], "the conversation")
        check(b"Much more" in said.raw and b"And?" in said.raw, "a message is not in the conversation")
        project.command("replay", run, key=False)
        project.command("runs", "verify", run)

    yield "a thread's limits are those of all its messages, and what does not fit is not sent", messages

    def killed():
        """The host is killed while the second thread waits; both are known to the orchestrator once the run is resumed."""
        directive(project)
        provider = project.provider
        provider.script({"match": {}, "response": {"content": "It takes some time to say.", "usage": usage(50, 10)}, "chunkSize": 4})
        relay = provider.scripted
        release = threading.Event()
        relay.faults = [None, {"hold": release, "after": 20}]
        params = {"directive_name": "t/one", "inputs": {"about": "${of}"}, "async_exec": True}
        wait = {"operation": "wait_threads", "thread_ids": "${state.ids}", "timeout": 5}
        document = graph(
            {
                "each": {"type": "foreach", "over": ["the sea", "the land"], "as": "of", "action": {"item_id": THREAD, "params": params}, "collect": "ids", "next": "wait"},
                "wait": {"action": {"item_id": ORCHESTRATOR, "params": wait}, "assign": {"waited": "${result}"}},
            },
            "each",
        )
        document["executor_id"] = "rye/core/runtimes/state_graph_runtime"
        document["config"]["max_concurrency"] = 1
        run, process = project.start(document, caps(relay.port), "--durability", "sync")
        project.kill_in_call(process, relay, 2, release)
        resumed = json.loads(project.command("resume", run, "--json").stdout)
        equal(resumed["status"], "completed", "the status of the resumed run")
        waited = resumed["state"]["waited"]
        equal((waited["success"], waited["count"], sorted(waited["results"])), (True, 2, resumed["state"]["ids"]), "the threads")
        exchanges = relay.take()
        equal(len(exchanges), 3, "requests: the one that was cut off is made again, and no other")
        equal(project.show(run)["model"], spend(exchanges), "what was spent")
        project.command("replay", run, key=False)
        project.command("runs", "verify", run)

    yield "threads side by side, the host killed in the second: the orchestrator knows both", killed
