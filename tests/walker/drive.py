"""A driver for the walker component: performs effects, reports events, keeps what is to be stored."""

import collections
import hashlib

from walker import Problem

KEY = "07" * 32


class Stored:
    """What a run leaves behind, as it is handed to `restore`."""

    def __init__(self):
        self.records, self.texts = [], []

    def add(self, effect):
        self.records.append(effect["record"])
        if effect.get("text"):
            self.texts.append(effect["text"])

    def document(self, records=None):
        return {"records": self.records[:records], "texts": self.texts}


class Driver:
    """Drives a run up to its end, with one answer for each item and one for each question.

    `perform(task)` gives a report; `answer(interrupt, resumes)` an answer. Time passes only where a run waits for a retry.
    """

    def __init__(self, perform, answer, now=1_767_225_600_000, events=20_000, resumes=8, stop_after=None):
        self.perform, self.answer = perform, answer
        self.now, self.left, self.resumes_left, self.stop_after = now, events, resumes, stop_after
        self.resumes = 0
        self.stored, self.lines, self.refused = Stored(), [], []

    def drive(self, run, first):
        events = collections.deque([first])
        while events and self.left:
            self.left -= 1
            event = events.popleft()
            try:
                effects = run.handle(self.now, event)
            except Problem as problem:
                if event["event"] in ("started", "resumed") and problem.code == "invalid_json":
                    raise
                self.lines.append(f"refused: {problem.message}")
                continue
            for effect in effects:
                self.effect(run, effect, events)
                if self.stop_after is not None and len(self.stored.records) >= self.stop_after:
                    return False
        return True

    def effect(self, run, effect, events):
        kind = effect["effect"]
        if kind in ("run_task", "look_up"):
            activation = effect["activation"]
            done = {"task": activation["task"], "attempt": activation["attempt"]}
            if kind == "look_up":
                events.append({"event": "looked_up", **done})
            else:
                events.append({"event": "task_done", **done, "report": self.perform(effect)})
        elif kind == "run_hook":
            report = {"outcome": {"result": None}, "fuel": 5}
            events.append({"event": "hook_done", "hook": effect["activation"]["task"], "report": report})
        elif kind == "persist":
            events.append({"event": "persisted", "id": effect["id"]})
            self.stored.add(effect)
            record = effect["record"]
            line = f"{record['kind']} {record['sequence']} {record['digest']}"
            if record["kind"] == "checkpoint":
                line += f" result {effect['result_digest']} fuel {effect['fuel']}"
            self.lines.append(line)
        elif kind == "set_timer" and effect["timer"]["kind"] == "retry":
            self.now = max(self.now, effect["at"])
            events.append({"event": "timer_fired", "timer": effect["timer"]})
        elif kind == "continue":
            events.append({"event": "continued"})
        elif kind == "suspend" and self.resumes < self.resumes_left:
            self.resumes += 1
            answers = {open_["id"]: self.answer(open_, self.resumes) for open_ in run.summary()["interrupts"]}
            events.append({"event": "resumed", "answers": answers})


def report_of_seed(task):
    """The doubles of tests/purity: what a task answers depends on its seed and on how often it was asked."""
    byte = int(task["seed"].removeprefix("sha256:")[:2], 16)
    again = task["activation"]["attempt"] > 1 or bool(task["activation"]["answers"])
    report = {"fuel": 10 + byte}
    choice = byte % 16
    if choice in (0, 1) and not again:
        report["failure"] = {"category": "transient", "message": "it failed"}
    elif choice == 2:
        report["failure"] = {"category": "permanent", "message": "it failed for good"}
    elif choice in (3, 4) and not again:
        report["outcome"] = {"interrupt": {"question": task["item_id"]}}
    elif 5 <= choice <= 8:
        report["outcome"] = {"result": task["params"]}
    elif choice in (9, 10):
        report["outcome"] = {"result": byte / 7.0}
    else:
        text = "sha256:" + hashlib.sha256(bytes([byte])).hexdigest()
        value = {"of": task["params"], "v": byte, "list": [byte, 1e21, -0.0, 5e-324], "text": text}
        report["outcome"] = {"result": value}
    return report


def again(_interrupt, resumes):
    return {"again": resumes}
