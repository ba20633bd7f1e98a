"""What every SDK offers, one operation at a time."""

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from graph_host_sdk import Command, Context, Failure, clocks, emit, files, http, knowledge, log, node, randomness, secrets, tools


@dataclass
class Params:
    op: str
    value: Any = None


def perform(op: str, value: Any, context: Context) -> Any:
    match op:
        case "echo":
            return value
        case "activation":
            of = context.activation
            return [of.graph_id, of.node_id, of.superstep, of.attempt, of.visit, len(of.idempotency_key) > 0]
        case "argument":
            return context.argument()
        case "log":
            log("info", f"value {value}")
            emit("seen", {"value": value})
            return None
        case "clock":
            before = clocks.now()
            clocks.sleep(1.5)
            passed = (clocks.now() - before).total_seconds() * 1000
            python = (time.time() - before.timestamp()) * 1000
            return [round(passed), before > datetime(2026, 1, 1, tzinfo=timezone.utc), round(python)]
        case "random":
            return list(randomness.random_bytes(value))
        case "files":
            files.write("/data/note.txt", value)
            found = files.stat("/data/note.txt")
            listed = [{"name": entry.name, "kind": entry.kind} for entry in files.list_folder("/data")]
            return [files.read_text("/data/note.txt"), {"kind": found.kind, "size": found.size}, listed]
        case "knowledge":
            knowledge.put("notes/one", value)
            return [
                knowledge.get("notes/one"),
                knowledge.get("notes/two"),
                knowledge.list_keys("notes/"),
                [hit.key for hit in knowledge.search("notes/", value)],
            ]
        case "request":
            fields = {"authorization": f"Bearer {secrets.handle('TOKEN')}", "x-note": "ä"}
            response = http.request(value, method="POST", fields=fields, body="ü" * 5000)
            return [response.status, response.field("x-seen"), response.field("x-none"), response.text()]
        case "get":
            response = http.get(value)
            return [response.status, response.text()]
        case "secrets":
            return [secrets.names(), secrets.handle(value)]
        case "tool":
            return tools.call("me/node", {"op": "echo", "value": value})
        case "fail":
            raise Failure(value, f"a failure of category {value}", {"value": value})
        case "missing":
            return files.read_text("/data/missing.txt")
        case "outside":
            return files.read_text("/elsewhere/x.txt")
        case "forbidden":
            return tools.call("me/other", {})
        case _:
            raise Failure("invalid-input", f"unknown operation {op}")


@node(
    "Performs one operation of an SDK.",
    wants={
        "wasi:clocks/wall-clock": "reads the time",
        "wasi:random/random": "draws numbers",
        "wasi:filesystem/types": "reads and writes notes",
        "wasi:http/outgoing-handler": "asks a server",
        "graph-host:host/secrets": "says who asks",
        "graph-host:host/knowledge": "keeps notes",
        "graph-host:host/tools": "calls itself",
    },
)
def action(params: Params, context: Context) -> Any:
    if params.op == "ask":
        first = context.ask({"question": "Which one?"})
        return {"first": first, "second": context.ask({"question": f"Why {first}?"})}
    if params.op == "command":
        return Command().write("written", params.value).goto("after").send("sent", {"n": 1})
    return perform(params.op, params.value, context)
