"""Measures graph-host and LangGraph in turns and prints how many times as long LangGraph takes.

`run` calls it with the worker that Cargo built; it uses nothing but the standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
GRANTS = [
    *("--caps", str(HERE / "caps.yaml")),
    *("--trust", str(ROOT / "examples/trust.yaml")),
    *("--items", str(ROOT / "examples/nodes/.ai/tools")),
]
TEXT = "x" * 960
MICRO, MILLI, MEBI = 1e6, 1e3, 1 / 1024


@dataclass(frozen=True)
class Case:
    """A graph that both sides run within a process that is running already."""

    name: str
    kind: str
    size: int
    store: str
    durability: str


CASES = [
    Case("superstep, not persisted", "loop", 1000, "none", "exit"),
    Case("superstep, memory store", "loop", 1000, "memory", "sync"),
    Case("superstep, SQLite, durability sync", "loop", 100, "sqlite", "sync"),
    Case("superstep, SQLite, durability async", "loop", 500, "sqlite", "async"),
    Case("superstep, SQLite, durability exit", "loop", 500, "sqlite", "exit"),
    Case("foreach item, 1,000 items, not persisted", "fan-out", 1000, "none", "exit"),
    Case("foreach item, 10,000 items, not persisted", "fan-out", 10_000, "none", "exit"),
    Case("foreach item, 1,000 items, SQLite, durability sync", "fan-out", 1000, "sqlite", "sync"),
]


@dataclass
class Row:
    """What was measured of one thing, round by round."""

    name: str
    unit: str
    theirs: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    def add(self, theirs: float, ours: float) -> None:
        self.theirs.append(theirs)
        self.ours.append(ours)

    def cells(self) -> list[str]:
        ratios = [theirs / ours for theirs, ours in zip(self.theirs, self.ours, strict=True)]
        return [
            self.name,
            f"{figure(statistics.median(self.theirs))} {self.unit}",
            f"{figure(statistics.median(self.ours))} {self.unit}",
            f"{figure(statistics.median(ratios))}",
            f"{figure(min(ratios))}–{figure(max(ratios))}",
        ]


def figure(value: float) -> str:
    """Two digits that count, or all of a larger whole number."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


class Worker:
    """A process that runs one graph at a time and says how long it took."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.about: dict[str, str] = self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args!r} ended without an answer")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(self, request: dict[str, Any], size: int) -> float:
        """Seconds for each of `size` supersteps or items."""
        assert self.process.stdin is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = self.answer()
        if answer["output"] != size:
            sys.exit(f"{self.process.args!r} answered {answer!r} in place of {size}")
        return float(answer["seconds"]) / size

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def whole_process(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds from start to end, and KiB of memory at the most."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    messages = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command!r} ended with {process.returncode}: {messages}")
    return seconds, usage.ru_maxrss


@dataclass
class Comparison:
    """Both sides, with a folder for what they write."""

    folder: Path
    python: str
    worker: Path
    graph_host: Path
    environment: dict[str, str]

    def graph(self, kind: str, size: int) -> str:
        """The file of a graph, with how often its node runs filled in."""
        path = self.folder / f"{kind}-{size}.yaml"
        if not path.exists():
            text = (HERE / f"{kind}.yaml").read_text()
            path.write_text(text.replace("STEPS", str(size)))
        return str(path)

    def inputs(self, kind: str, size: int) -> dict[str, Any]:
        return {"text": TEXT} if kind == "loop" else {"items": list(range(size))}

    def requests(self, case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
        """What each worker is told."""
        common = {"store": case.store, "durability": case.durability}
        theirs = {**common, "kind": case.kind, "size": case.size, "text": TEXT}
        ours = {
            **common,
            "graph": self.graph(case.kind, case.size),
            "inputs": self.inputs(case.kind, case.size),
        }
        # A run of graph-host always has a store. The least that it can do is to sign its end in memory.
        if case.store == "none":
            ours["store"] = "memory"
        return theirs, ours

    def commands(self, kind: str, size: int) -> tuple[list[str], list[str]]:
        """A whole process that runs one graph in memory."""
        inputs = self.folder / f"{kind}-{size}.json"
        inputs.write_text(json.dumps(self.inputs(kind, size)))
        ours = [str(self.graph_host), "run", self.graph(kind, size), "--quiet", "--json"]
        ours += ["--store", "memory", "--durability", "exit", "--inputs", str(inputs), *GRANTS]
        return [self.python, str(HERE / "process.py"), kind, str(size)], ours

    def measure_workers(self, rounds: int, wanted: Callable[[str], bool]) -> tuple[list[Row], dict[str, str]]:
        """The cases within running processes, and the versions of what ran them."""
        theirs = Worker([self.python, str(HERE / "langgraph_worker.py")], self.folder, self.environment)
        ours = Worker([str(self.worker), "--serve", *GRANTS], self.folder, self.environment)
        rows = []
        for case in filter(lambda case: wanted(case.name), CASES):
            row = Row(case.name, "µs")
            to_them, to_us = self.requests(case)
            # One round for warming up, which does not count.
            for number in range(rounds + 1):
                progress(case.name, number, rounds)
                pair = theirs.run(to_them, case.size) * MICRO, ours.run(to_us, case.size) * MICRO
                if number:
                    row.add(*pair)
            rows.append(row)
        theirs.close()
        ours.close()
        return rows, theirs.about | ours.about

    def measure_processes(self, rounds: int, wanted: Callable[[str], bool]) -> list[Row]:
        """Whole processes: how long one takes that does next to nothing, and its memory."""
        rows = []
        for kind, size, what in [
            ("loop", 1, "of one superstep"),
            ("fan-out", 10_000, "of a foreach of 10,000"),
        ]:
            took, memory = Row(f"process {what}", "ms"), Row(f"peak memory of a process {what}", "MiB")
            if not wanted(took.name):
                continue
            commands = self.commands(kind, size)
            for number in range(rounds + 1):
                progress(took.name, number, rounds)
                theirs, ours = (whole_process(command, self.folder, self.environment) for command in commands)
                if number:
                    took.add(theirs[0] * MILLI, ours[0] * MILLI)
                    memory.add(theirs[1] * MEBI, ours[1] * MEBI)
            rows += [took, memory]
        return rows


def progress(name: str, number: int, rounds: int) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{name}: {number}/{rounds}", end="\n" if number == rounds else "", file=sys.stderr, flush=True)


def table(rows: list[Row], rounds: int, markdown: bool) -> str:
    heads = ["what", "LangGraph", "graph-host", "times as long", f"spread of {rounds} rounds"]
    lines = [heads, *(row.cells() for row in rows)]
    if markdown:
        marks = ["---", "---:", "---:", "---:", "---:"]
        return "\n".join(f"| {' | '.join(line)} |" for line in [heads, marks, *lines[1:]])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    formats = [f"{{:{'<' if at == 0 else '>'}{width}}}" for at, width in enumerate(widths)]
    return "\n".join("  ".join(formats).format(*line) for line in lines)


def notes(about: dict[str, str]) -> str:
    """What was measured, and with which settings."""
    return "\n".join(
        [
            f"LangGraph {about['langgraph']}, langgraph-checkpoint-sqlite {about['checkpointer']}, "
            f"Python {about['python']}, SQLite {about['sqlite']}",
            f"graph-host {about['graph_host']}, SQLite with journal_mode=wal",
            "both with synchronous=FULL under sync, and NORMAL under async and exit",
            f"{os.cpu_count()} processors; each round measures both sides; the figures are medians of the rounds",
        ]
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=9, help="how often each pair is measured, at least 3 (default 9)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--only", metavar="WORDS", default="", help="only the rows whose name contains these words")
    parser.add_argument("--worker", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--graph-host", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--python", required=True, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rounds < 3:
        parser.error("a spread needs at least 3 rounds")
    return given


def main() -> None:
    given = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A project of its own, whatever is above the folder, and a user's space of its own.
        (folder / ".ai").mkdir()
        # Without what has LangGraph send traces, or Python compile its modules each time.
        without = ("LANGSMITH", "LANGCHAIN", "PYTHON")
        environment = {key: value for key, value in os.environ.items() if not key.startswith(without)}
        environment["GRAPH_HOST_HOME"] = str(folder / "home")
        comparison = Comparison(folder, given.python, given.worker, given.graph_host, environment)

        def wanted(row: str) -> bool:
            return given.only in row

        # Processes first: the peak memory of a child is never below what its parent has when it starts it.
        processes = comparison.measure_processes(given.rounds, wanted)
        rows, about = comparison.measure_workers(given.rounds, wanted)
    print(table(rows + processes, given.rounds, given.markdown))
    print()
    print(notes(about))


if __name__ == "__main__":
    main()
