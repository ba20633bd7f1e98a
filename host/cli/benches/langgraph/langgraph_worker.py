"""Runs graphs with LangGraph, one for each line of JSON on stdin, and answers with how long each took."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from importlib.metadata import version
from typing import Any

import graphs
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

# As graph-host has it: PRAGMA synchronous by durability.
SYNCHRONOUS = {"sync": "FULL", "async": "NORMAL", "exit": "NORMAL"}


class Worker:
    """Has one database for all runs, each of which is a thread of its own in it."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect("langgraph.db", check_same_thread=False)
        self.sqlite = SqliteSaver(self.connection)
        self.sqlite.setup()
        self.runs = 0

    def checkpointer(self, store: str, durability: str) -> BaseCheckpointSaver[Any] | None:
        if store == "none":
            return None
        if store == "memory":
            return InMemorySaver()
        self.connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[durability]}")
        return self.sqlite

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        kind, size = request["kind"], request["size"]
        store, durability = request["store"], request["durability"]
        graph = graphs.loop(size, request["text"]) if kind == "loop" else graphs.fan_out()
        compiled = graph.compile(checkpointer=self.checkpointer(store, durability))
        self.runs += 1
        config: RunnableConfig = {"recursion_limit": size + 10, "configurable": {"thread_id": str(self.runs)}}
        inputs = graphs.inputs_of(kind, size)
        mode = None if store == "none" else durability
        start = time.perf_counter()
        state = compiled.invoke(inputs, config, durability=mode)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "output": graphs.output_of(kind, state)}

    def about(self) -> dict[str, str]:
        journal = self.connection.execute("PRAGMA journal_mode").fetchone()[0]
        return {
            "langgraph": version("langgraph"),
            "checkpointer": version("langgraph-checkpoint-sqlite"),
            "python": sys.version.split()[0],
            "sqlite": f"{sqlite3.sqlite_version}, journal_mode={journal}",
        }


def main() -> None:
    worker = Worker()
    print(json.dumps(worker.about()), flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.run(json.loads(line))), flush=True)


main()
