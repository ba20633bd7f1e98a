"""Compares the runs of one graph whose node is written in several languages: all that the result digests of their checkpoints cover but fuel,
which differs from language to language.

    compare.py RUN CHECKPOINTS FAILURES FOLDER FOLDER…

Each folder has the exported run, RUN.jsonl, and what it printed, RUN.json. There have to be that many checkpoints and failures.
"""

import json
import sys
from pathlib import Path


COVERED = ["step", "graph", "inputs", "state", "next", "deferred", "barriers", "end", "visited_digest"]


def told(folder, run):
    """The checkpoints of a run: all that a result digest covers except fuel, which differs from language to language."""
    steps = []
    for line in (Path(folder) / f"{run}.jsonl").read_text().strip().split("\n"):
        record = json.loads(line).get("record")
        if record is None or record["kind"] != "checkpoint":
            continue
        body = json.loads(record["body"])
        steps.append({key: body.get(key) for key in COVERED})
    return steps


def main(run, checkpoints, wanted_failures, *folders):
    first, *others = folders
    expected = told(first, run)
    state = json.loads((Path(first) / f"{run}.json").read_text())["output"]
    failures = state["failures"]
    assert len(expected) == int(checkpoints) and len(failures) == int(wanted_failures), (len(expected), failures)
    for folder in others:
        actual = told(folder, run)
        own = json.loads((Path(folder) / f"{run}.json").read_text())["output"]
        for key in sorted(set(state) | set(own)):
            assert state.get(key) == own.get(key), f"{folder}: {key}: {own.get(key)} and not {state.get(key)}"
        for want, got in zip(expected, actual, strict=True):
            assert want == got, f"{folder}: step {want['step']}: {got} and not {want}"
    print(f"{run} in {len(folders)} languages: {len(expected)} checkpoints equal but for fuel, {len(failures)} equal failures")


main(*sys.argv[1:])
