"""Compares the runs of one graph whose node is written in several languages: all that the result digests of their checkpoints cover but fuel,
which differs from language to language.

    compare.py FOLDER FOLDER…
"""

import json
import sys
from pathlib import Path


COVERED = ["step", "graph", "inputs", "state", "next", "deferred", "barriers", "end", "visited_digest"]


def told(folder):
    """The checkpoints of a run: all that a result digest covers except fuel, which differs from language to language."""
    steps = []
    for line in (Path(folder) / "run.jsonl").read_text().strip().split("\n"):
        record = json.loads(line).get("record")
        if record is None or record["kind"] != "checkpoint":
            continue
        body = json.loads(record["body"])
        steps.append({key: body.get(key) for key in COVERED})
    return steps


def main(folders):
    first, *others = folders
    expected = told(first)
    state = json.loads((Path(first) / "result").read_text())["output"]
    failures = state["failures"]
    assert len(expected) > 20 and len(failures) == 12, (len(expected), failures)
    for folder in others:
        actual = told(folder)
        own = json.loads((Path(folder) / "result").read_text())["output"]
        for key in sorted(set(state) | set(own)):
            assert state.get(key) == own.get(key), f"{folder}: {key}: {own.get(key)} and not {state.get(key)}"
        for want, got in zip(expected, actual, strict=True):
            assert want == got, f"{folder}: step {want['step']}: {got} and not {want}"
    print(f"{len(folders)} languages: {len(expected)} checkpoints equal but for fuel, {len(failures)} failures of equal categories")


main(sys.argv[1:])
