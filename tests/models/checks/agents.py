"""The examples whose agents ask models: their graphs, components and manifests as they are, with the provider's address in place of the real one."""

import json
import pathlib
import re

from project import VARIABLE, check, equal

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
EXAMPLES = ROOT / "examples"
USAGE = {"prompt_tokens": 120, "completion_tokens": 45, "total_tokens": 165, "input_tokens": 120, "output_tokens": 45}
RETURN = "directive_return"


def caps_of(example, port):
    """The manifest of an example, with another address, another variable for the key, and whole paths."""
    text = (EXAMPLES / example / "caps.yaml").read_text()
    text, urls = re.subn(r"^    url: https://.*$", f"    url: http://127.0.0.1:{port}/v1\n    addresses: [127.0.0.1]", text, flags=re.M)
    text, keys = re.subn(r"^    secret: .*$", f"    secret: {{ env: {VARIABLE} }}", text, flags=re.M)
    check(urls == keys == 2, f"the manifest of {example} has {urls} addresses and {keys} keys")
    return text.replace("path: ../..", f"path: {ROOT}")


def text(content):
    return {"content": content, "usage": USAGE}


def calls(*named):
    """An answer that asks for tools: pairs of a name and its arguments."""
    listed = [{"id": f"call_{name}_{index}", "name": name, "arguments": json.dumps(arguments)} for index, (name, arguments) in enumerate(named)]
    return {"toolCalls": listed, "usage": USAGE}


def returns(**outputs):
    return calls((RETURN, outputs))


def when(response, **match):
    return {"match": match, "response": response}


def in_turn(match, *answers):
    """What is answered to the first, second, ... request that matches."""
    return [when(answer, **match, sequenceIndex=index) for index, answer in enumerate(answers)]


def run(project, example, fixtures, **inputs):
    """Runs an example with these answers: its document, and the requests that the provider got."""
    provider = project.provider
    provider.script(*fixtures)
    project.runs += 1
    name = f"r{project.runs}"
    caps = project.write(f"{name}-caps.yaml", caps_of(example, provider.scripted.port))
    given = project.write(f"{name}-inputs.json", inputs)
    words = ["run", EXAMPLES / example / "graph.yaml", "--caps", caps, "--inputs", given, "--run-id", name, "--json"]
    # The shell is compiled, once.
    document = json.loads(project.command(*words, seconds=600).stdout)
    exchanges = provider.scripted.take()
    shown = project.show(name)["model"]
    answered = sum(1 for exchange in exchanges if exchange.status == 200)
    equal((shown["calls"], shown["input_tokens"], shown["output_tokens"]), (len(exchanges), 120 * answered, 45 * answered), "what was spent")
    check(shown["cost"] > 0, "the run has cost nothing")
    project.command("runs", "verify", name)
    return document, exchanges


def rows(project):
    project.command("trust", "add", "examples", "--key", EXAMPLES / "keys/example-only.pub.pem", "--items", "examples/*", "--may", "model", "filesystem")

    def router():
        document, exchanges = run(
            project,
            "model-router",
            in_turn({"model": "gpt-5-mini"}, returns(tool="count_words"), returns(tool="count_lines", folder="/src/examples/approval/notes", ending=".md")),
            question="How many lines do the notes have?",
        )
        output = document["output"]
        equal((output["answer"], output["by"], output["fallback"], output["asked"]), ("6 lines in 1 files", "count_lines", None, 2), "the answer")
        check("must be one of" in exchanges[1].raw.decode(), "the model is not told which tools there are")

    yield "examples/model-router: a choice that is none is asked for again, then a tool answers", router

    def router_malformed():
        """The arguments of the first call are a list: the model is told, and calls again. The provider of the checks has none that are no JSON."""
        wrong = calls((RETURN, [1]))
        right = returns(tool="count_lines", folder="/src/examples/approval/notes", ending=".md")
        question = "How many lines do the notes have?"
        document, exchanges = run(project, "model-router", in_turn({"model": "gpt-5-mini"}, wrong, right), question=question)
        equal((document["output"]["answer"], document["output"]["asked"]), ("6 lines in 1 files", 2), "the answer")
        told = [exchange.raw.decode() for exchange in exchanges]
        check("the arguments must be a JSON object" in told[1], f"the model is not told that its arguments are a list: {told[1]}")

    yield "examples/model-router: arguments that are no JSON object are told to the model", router_malformed

    def router_fallback():
        document, exchanges = run(
            project,
            "model-router",
            [
                *in_turn({"model": "gpt-5-mini"}, text("I would count words."), text("I would.")),
                when(text("It promises checkpoints."), model="gpt-5", hasToolResult=True),
                when(calls(("look", {"op": "search", "folder": "/src/examples/approval/notes", "text": "checkpoint"})), model="gpt-5", hasToolResult=False),
            ],
            question="What do the notes promise?",
        )
        output = document["output"]
        equal((output["answer"], output["by"]), ("It promises checkpoints.", "explain"), "the answer")
        check("although it was reminded" in output["fallback"], output["fallback"])
        equal([exchange.body["model"] for exchange in exchanges], ["gpt-5-mini", "gpt-5-mini", "gpt-5", "gpt-5"], "the models that were asked")

    yield "examples/model-router: no choice, so the large model answers", router_fallback

    def critic():
        document, exchanges = run(
            project,
            "writer-and-critic",
            [
                when(text("A headline that says it"), systemMessage="You write headlines", userMessage="visit #2"),
                when(text("A headline"), systemMessage="You write headlines"),
                when(text("A paragraph."), systemMessage="You write short announcements"),
                *in_turn(
                    {"systemMessage": "You are a strict editor"},
                    returns(headline={"verdict": "revise", "feedback": "Say what it is."}, text={"verdict": "accept"}),
                    returns(headline={"verdict": "accept"}, text={"verdict": "accept"}),
                ),
            ],
        )
        output = document["output"]
        equal((output["headline"], output["text"], output["rounds"]), ("A headline that says it", "A paragraph.", 2), "the announcement")
        having = [exchange for exchange in exchanges if b"Say what it is." in exchange.raw]
        equal(len(having), 1, "requests with the critic's words")
        check("You write headlines" in having[0].raw.decode() and "A headline" in having[0].raw.decode(), "the words are for the headline's writer")
        equal([exchange.body["model"] for exchange in exchanges], ["gpt-5-mini", "gpt-5-mini", "gpt-5", "gpt-5-mini", "gpt-5"], "the models that were asked")

    yield "examples/writer-and-critic: feedback reaches the writer that needs it, and no other", critic

    def negotiation():
        limits = {"buyer_limit": 9137, "seller_limit": 8642}
        document, exchanges = run(
            project,
            "agents-negotiate",
            [
                *in_turn({"systemMessage": "You are the buyer"}, returns(move="offer", offered=8000, message="It is old."), returns(move="offer", offered=8800, message="My last offer.")),
                *in_turn(
                    {"systemMessage": "You are the seller"},
                    # Less than the seller can take.
                    returns(move="accept", accepted=8000, message="Agreed."),
                    returns(move="offer", offered=9500, message="It has new tyres."),
                    returns(move="accept", accepted=8800, message="Agreed."),
                ),
            ],
            asking=10000,
            **limits,
        )
        output = document["output"]
        equal((output["ended_by"], output["price"], output["rounds"]), ("agreement", 8800, 2), "how it ended")
        for exchange in exchanges:
            body = exchange.raw.decode()
            own, other = ("buyer_limit", "seller_limit") if "You are the buyer" in body else ("seller_limit", "buyer_limit")
            check(str(limits[own]) in body, f"a request without the own {own}")
            check(str(limits[other]) not in body, f"a request with the other party's {other}: {body}")

    yield "examples/agents-negotiate: no request has the other party's limit, and no limit is broken", negotiation

    def research():
        questions = ["Alpha?", "Beta?", "Gamma?", "Delta?", "Epsilon?"]
        found = ["/src/examples/approval/notes/release.md:3"]
        search = calls(("shell", {"command": "grep -rn 'signed checkpoint' /src/examples/approval/notes", "check": False}))
        document, exchanges = run(
            project,
            "research",
            [
                when(returns(questions=questions), systemMessage="You plan research"),
                when({"error": {"message": "No", "type": "invalid_request_error"}, "status": 400}, userMessage="Gamma?", systemMessage="You answer a question"),
                when(search, systemMessage="You answer a question", hasToolResult=False),
                when(returns(answer="In the notes.", sources=found), systemMessage="You answer a question", toolResultContains="release.md:3"),
                when(returns(report="In the notes [1].", references=found), systemMessage="You write a report"),
            ],
            question="Where are checkpoints promised?",
            most=5,
        )
        output = document["output"]
        equal((output["report"], output["references"]), ("In the notes [1].", found), "the report")
        equal([answer["question"] for answer in output["answers"]], questions, "the questions")
        failed = [answer for answer in output["answers"] if "failed" in answer]
        equal([answer["question"] for answer in failed], ["Gamma?"], "the question that failed")
        check(all(answer["sources"] == found and answer["cost"]["turns"] == 2 for answer in output["answers"] if answer not in failed), output["answers"])
        check(max(len(exchange.before) for exchange in exchanges) < 3, "more than three questions were asked at the same time")
        writing = exchanges[-1].raw.decode()
        check("Gamma?" in writing and "In the notes." in writing, "the writer is not given all answers")

    yield "examples/research: several at a time, one of which fails, and the others are in the report", research
