"""Compares the runs of one graph whose node is written in several languages: the state after every superstep, by its digest, the results of
the run, and how each task ended, fuel aside.

    compare.py FOLDER FOLDER…
"""

import json
import sys
from pathlib import Path


def told(folder):
    """The checkpoints of a run: step, digest of the state, and the tasks with how often they called the host."""
    steps = []
    for line in (Path(folder) / "run.jsonl").read_text().strip().split("\n"):
        record = json.loads(line).get("record")
        if record is None or record["kind"] != "checkpoint":
            continue
        body = json.loads(record["body"])
        tasks = sorted(body["tasks"]) if isinstance(body["tasks"], dict) else len(body["tasks"])
        steps.append((body["step"], body["state"], tasks))
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
            assert want == got, f"{folder}: step {want[0]}: {got} and not {want}"
    print(f"{len(folders)} languages: {len(expected)} checkpoints with equal digests, {len(failures)} failures of equal categories")


main(sys.argv[1:])
