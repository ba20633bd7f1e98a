"""Budgets: nothing is sent that could exceed one, and what was spent is what the provider counts."""

import json
import math
import random
import re

from project import APIS, FIGURES, ITEM, RUN_LIMITS, TASK_LIMITS, check, cost, equal, graph, manifest, model, spend, spending

REFUSED = re.compile(
    r"the model `(?P<model>\w+)` at (?P<url>\S+): it may need (?P<needed>[\d.]+) (?P<unit>[\w' ]+), and (?P<left>[\d.]+) of (?P<most>[\d.]+) are left; "
    r"`limits: \{ model: \{ (?P<figure>\w+): (?P<line>[\d.]+) \} \}` in the manifest"
)
RUN_LINE = re.compile(r"run: \{ model: \{ (?P<figure>\w+): (?P<line>[\d.]+) \} \}")


def millionths(limit):
    return round(limit * 1_000_000) if limit < math.inf else limit


def of_manifest(limits, defaults):
    """Limits as a manifest writes them, in figures; a cost in millionths."""
    whole = {**defaults, **limits}
    return {**whole, "cost": millionths(whole["cost"])}


class Drawn:
    """A random manifest, and random tasks for it."""

    def __init__(self, seed, port):
        draw = random.Random(seed)
        self.prices = {name: {"input": draw.choice([0, 0.25, 1.5, 15]), "output": draw.choice([0, 0.5, 4, 75])} for name in ("one", "two")}
        self.models = {
            name: model(port, draw.choice(list(APIS)), price=price, max_output=draw.choice([40, 500, 4096]), attempts=draw.choice([1, 2, 3]), stream=draw.random() < 0.5)
            for name, price in self.prices.items()
        }
        self.is_parallel = draw.random() < 0.5
        self.tasks = []
        for task in range(draw.choice([1, 1, 2, 3])):
            questions = []
            for number in range(draw.randint(1, 5)):
                errors = [draw.choice([429, 429, 429, 503]) for _ in range(draw.choice([0, 0, 0, 0, 1, 1, 2]))]
                asked = {"id": f"{seed}-{task}-{number}", "input": draw.randint(1, 120), "output": draw.choice([1, 5, 30, 200, 5000]), "errors": errors}
                text = json.dumps({**asked, "padding": "x" * draw.choice([0, 10, 600])})
                questions.append({"text": text, "max_output": draw.choice([None, None, 3, 50, 1000])})
            self.tasks.append({"model": draw.choice(list(self.models)), "questions": questions})

        def limits(scale):
            drawn = {
                "calls": draw.choice([0, 1, 2, 3, 5, 8, 13]),
                "input_tokens": draw.choice([100, 400, 900, 2000, 5000]) * scale,
                "output_tokens": draw.choice([1, 10, 60, 300, 2000]) * scale,
                "cost": draw.choice([0, 0.0005, 0.002, 0.01, 0.05]) * scale,
            }
            return {name: value for name, value in drawn.items() if draw.random() < 0.45}

        self.task, self.run = limits(1), limits(2)

    def graph(self):
        params = {"op": "spend", "model": "${task.model}", "questions": "${task.questions}"}
        action = {"item_id": ITEM, "params": params}
        each = {"type": "foreach", "over": "${inputs.tasks}", "as": "task", "parallel": True, "collect": "answers", "action": action}
        if self.is_parallel:
            return graph({"ask": each})
        # One superstep for each task: each has what those before it have left.
        nodes = {}
        for at in range(len(self.tasks)):
            params = {"op": "spend", "model": "${inputs.tasks[%d].model}" % at, "questions": "${inputs.tasks[%d].questions}" % at}
            nodes[f"ask{at}"] = {"action": {"item_id": ITEM, "params": params}, "assign": {f"answers{at}": "${result}"}}
            if at:
                nodes[f"ask{at - 1}"]["next"] = f"ask{at}"
        return graph(nodes, "ask0")

    def answers(self, document):
        """What the tasks that have ended were answered."""
        state = document["state"]
        return state.get("answers", []) if self.is_parallel else [state[f"answers{at}"] for at in range(len(self.tasks)) if f"answers{at}" in state]


def total(spent):
    return {name: sum(one[name] for one in spent) for name in FIGURES}


def check_requests(drawn, exchanges, limits, of, what):
    """At each request: what was used, and what those under way and this one may use, is within the limits."""
    for exchange in (one for one in exchanges if of(one)):
        used = total([spend([one], drawn.price(one)) for one in exchange.done if of(one)])
        under_way = [one for one in [*exchange.before, exchange] if of(one)]
        for one in under_way:
            price = drawn.price(one)
            # At least what it will use: how the host bounds the tokens of a request is its own matter.
            tokens_in = json.loads(one.question)["input"]
            most = dict(zip(FIGURES, (1, tokens_in, one.most, cost(price, tokens_in, one.most))))
            used = total([used, most])
        over = {name: (used[name], limits[name]) for name in FIGURES if used[name] > limits[name]}
        check(not over, f"{what} is exceeded by {exchange.question[:60]}: {over}")


def check_end(drawn, document, status, exchanges, limits):
    """A run that a budget has ended says which."""
    error = document.get("error") or {}
    if status == 0:
        asked = sum(len(task["questions"]) for task in drawn.tasks)
        equal(sum(len(task["answers"]) for task in drawn.answers(document)), asked, "answers of a run that has completed")
        return None
    message = error["message"]
    equal(error["category"], "limit", f"the category of {message!r}")
    if status == 7:
        line = RUN_LINE.search(message)
        check(line and document["status"] == "limit", f"expected the line of the manifest for the run in {message!r} ({document['status']})")
        return "run", line["figure"]
    found = REFUSED.search(message)
    check(found, f"expected what was needed, what is left, and the line of the manifest in {message!r}")
    return "task", found["figure"]


def check_left(drawn, document, exchanges, task, run):
    """What each answer reports as left is what the task and the run have, less what the provider has counted."""
    spent_before = total([])
    for at, answered in enumerate(drawn.answers(document)):
        own = [one for one in exchanges if drawn.task_of(one) == at]
        # What is set aside for a task when its superstep begins.
        had = {name: min(task[name], run[name] - spent_before[name]) for name in FIGURES}
        spent, position = total([]), 0
        for question, answer in zip(drawn.tasks[at]["questions"], answered["answers"]):
            wanted = json.loads(question["text"])["id"]
            while position < len(own) and json.loads(own[position].question)["id"] == wanted:
                spent = total([spent, spend([own[position]], drawn.price(own[position]))])
                position += 1
            left = {name: None if had[name] == math.inf else max(0, had[name] - spent[name]) for name in FIGURES}
            equal(answer["left"], left, f"what is left after {wanted}")
        spent_before = total([spent_before, spent])


def check_drawn(project, seed, by_name):
    relay = project.provider.obedient
    relay.take()
    drawn = Drawn(seed, relay.port)
    drawn.by_name = by_name
    drawn.task_of = lambda one: int(json.loads(one.question)["id"].split("-")[-2])
    drawn.model_of = lambda one: drawn.tasks[drawn.task_of(one)]["model"]
    drawn.price = lambda one: drawn.prices[drawn.model_of(one)]
    caps = manifest(drawn.models, task=drawn.task, run=drawn.run)
    run, document = project.run(drawn.graph(), caps, inputs={"tasks": drawn.tasks}, code=(0, 5, 7))
    status = {"completed": 0, "failed": 5, "limit": 7}[document["status"]]
    exchanges = relay.take()
    task, whole = of_manifest(drawn.task, TASK_LIMITS), of_manifest(drawn.run, RUN_LIMITS)
    check_requests(drawn, exchanges, whole, lambda one: True, "the run's budget")
    for at in range(len(drawn.tasks)):
        check_requests(drawn, exchanges, task, lambda one: drawn.task_of(one) == at, f"the budget of task {at}")
    for one in exchanges:
        asked = drawn.tasks[drawn.task_of(one)]["questions"][int(json.loads(one.question)["id"].split("-")[-1])]
        most = min(drawn.models[drawn.model_of(one)]["max_output"], asked["max_output"] or math.inf)
        check(1 <= one.most <= most, f"{one.most} tokens are asked for, and {most} are allowed")
    shown = project.show(run)
    by_name = {name: [one for one in exchanges if drawn.model_of(one) == name] for name in drawn.models}
    by_name = {name: spend(own, drawn.prices[name]) for name, own in by_name.items() if own}
    equal(shown["model"], total(by_name.values()), "what was spent")
    if status == 0:
        equal(shown["models"], by_name, "what was spent, by model")
    elif shown["models"] != by_name:
        drawn.by_name.append((run, by_name, shown["models"]))
    if not drawn.is_parallel:
        check_left(drawn, document, exchanges, task, whole)
    return check_end(drawn, document, status, exchanges, task)


def rows(project, seed, count):
    # Runs that have not completed, and the figures of models that are not what their requests have cost.
    by_name = []

    def random_budgets():
        ends, problems = {}, []
        for number in range(count):
            drawn = f"{seed}-{number}"
            try:
                end = check_drawn(project, drawn, by_name)
                ends[end] = ends.get(end, 0) + 1
            except AssertionError as problem:
                problems.append(f"budget {drawn}: {problem}")
        print(f"    {count} budgets; ended by:", ", ".join(f"{'nothing' if end is None else '.'.join(end)} {times}" for end, times in sorted(ends.items(), key=str)))
        check(not problems, f"{len(problems)} budgets:", "\n".join(problems[:5]))
        # Otherwise the sample says little.
        check(len(ends) >= 5, f"expected that different budgets end runs: {ends}")

    yield f"{count} random budgets: no request could exceed one, and what was spent is what the provider counts", random_budgets

    def failed_runs():
        check(not by_name, f"{len(by_name)} runs; run, expected and found:", json.dumps(by_name[:3]))

    yield "random budgets: what runs that have not completed have spent, by model", failed_runs

    def lines():
        """The line that a refusal prints is typed, and the run gets further."""
        relay = project.provider.obedient
        questions = [json.dumps({"id": f"lines-{number}", "input": 100, "output": 60, "errors": []}) for number in range(3)]
        short = {"calls": 2, "input_tokens": 400, "output_tokens": 90, "cost": 0.0009}
        for scope, code in (("task", 5), ("run", 7)):
            for figure, limit in short.items():
                limits, further = {figure: limit}, 0
                for _ in range(8):
                    relay.take()
                    caps = manifest({"m": model(relay.port)}, **{scope: limits})
                    _, document = project.run(spending(*questions, max_output=80), caps, code=(0, code))
                    requests = len(relay.take())
                    check(requests >= further, f"{scope} {limits}: the line that was printed made it worse")
                    if document["status"] == "completed":
                        break
                    check(limits[figure] != limit or requests < 3, f"{scope} {limits}: expected that it does not suffice")
                    pattern = REFUSED if scope == "task" else RUN_LINE
                    line = pattern.search(document["error"]["message"])
                    check(line and line["figure"] == figure, f"{scope} {limits}: expected its line in {document['error']['message']!r}")
                    limits, further = {figure: json.loads(line["line"])}, requests
                equal(document["status"], "completed", f"{scope} {figure}: the status after typing the lines that were printed")

    yield "the line of a manifest that a refusal names: typing it lets the run continue", lines

    def disobedient():
        """A provider that uses more than the request allows."""
        for scope, code in (("task", 5), ("run", 7)):
            for figure, usage in (("output_tokens", (10, 900)), ("input_tokens", (5000, 10)), ("cost", (4000, 10))):
                limits = {figure: {"output_tokens": 100, "input_tokens": 2000, "cost": 0.003}[figure]}
                fixture = {"response": {"content": "A long one.", "usage": dict(zip(("prompt_tokens", "completion_tokens"), usage))}}
                project.provider.in_order(fixture)
                caps = manifest({"m": model(project.provider.scripted.port)}, **{scope: limits})
                run, document = project.run(spending("One", "Two", max_output=50), caps, code=code)
                message, exchanges = document["error"]["message"], project.provider.scripted.take()
                equal(len(exchanges), 1, f"requests after {usage} with {scope} {limits}")
                equal(document["error"]["category"], "limit", f"the category of {message!r}")
                check(f"{figure}:" in message and "model:" in message, f"{scope} {limits}: expected its line in {message!r}")
                equal(project.show(run)["model"], spend(exchanges), f"what was spent with {scope} {limits}")

    yield "a provider that counts more than it may: it is charged, and the run ends", disobedient


