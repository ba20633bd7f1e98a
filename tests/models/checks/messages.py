"""What `--stream messages` prints while answers arrive."""

import json

from conversation import SCRIPT
from project import APIS, asking, check, equal, manifest, model, spending

USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30, "input_tokens": 20, "output_tokens": 10}
TEXT = "Several words – mit Umlauten äöü, and 漢字."
CALL = {"id": "call_1", "name": "get_weather", "arguments": json.dumps({"city": "Paris", "days": [1, 2]})}


def printed(project, graph, caps):
    """The lines of the stream, and the result."""
    process_run, process = project.start(graph, caps, "--stream", "messages", "--json")
    out, err = process.communicate(timeout=60)
    project.printed += [out, err]
    equal(process.returncode, 0, f"the exit code, with {out[-1000:]} {err[-1000:]}")
    lines = [json.loads(line) for line in out.splitlines()]
    messages = [line for line in lines if line.get("kind") == "message"]
    check(all(line["node"] == "ask" and line["model"] == "m" and line["run"] == process_run for line in messages), f"lines of other nodes: {messages[:2]}")
    return messages, lines[-1]


def joined(messages, part, call=1, attempt=None):
    """The texts of one part of an answer, of its last try."""
    of_call = [line for line in messages if line["model_call"] == call]
    attempt = attempt or max(line["model_attempt"] for line in of_call)
    return "".join(line["text"] for line in of_call if line["part"] == part and line["model_attempt"] == attempt)


def rows(project):
    provider = project.provider

    def every_api():
        for api in APIS:
            for streamed in (True, False):
                answer = {"content": TEXT, "toolCalls": [CALL], "usage": USAGE}
                if streamed:
                    answer["reasoning"] = "There is a tool for it."
                provider.script({"match": {}, "response": answer, "chunkSize": 3})
                one = model(provider.scripted.port, api, stream=streamed)
                turns = [{"name": "one", "user": [{"text": "What is the weather?"}]}]
                conversation = asking(op="converse", model="m", system="s", tools=SCRIPT["tools"], turns=turns)
                messages, result = printed(project, conversation, manifest({"m": one}))
                name = f"{api}, {'streamed' if streamed else 'whole'}"
                (turn,) = result["output"]["result"]["transcript"]
                equal(turn["blocks"], [{"text": TEXT}, {"tool_call": {**CALL, "arguments": json.loads(CALL["arguments"])}}], f"the answer, {name}")
                equal(joined(messages, "text"), TEXT, f"the parts of the text, {name}")
                equal(json.loads(joined(messages, "tool_call")), json.loads(CALL["arguments"]), f"the parts of the call, {name}")
                named = [line["tool"] for line in messages if "tool" in line]
                equal(named, ["get_weather"], f"the tools that are named, {name}")
                if streamed:
                    check(len(messages) > 5, f"expected the parts of the answer apart, {name}: {messages}")
                    check(joined(messages, "reasoning") in ("", answer["reasoning"]), f"{name}: {joined(messages, 'reasoning')!r}")

    yield "--stream messages: the parts of an answer are the answer", every_api

    def split_characters():
        """aimock cuts a text between the two halves of a character, as UTF-16 has it; clients put them together again."""
        for api in APIS:
            provider.script({"match": {}, "response": {"content": "ab🙂cd", "usage": USAGE}, "chunkSize": 3})
            messages, result = printed(project, spending("One"), manifest({"m": model(provider.scripted.port, api, attempts=1)}))
            (answer,) = result["output"]["result"]["answers"]
            equal(answer.get("text"), "ab🙂cd", f"the answer, {api}, of {answer}")
            equal(joined(messages, "text"), "ab🙂cd", f"the parts of the answer, {api}")

    yield "a character that comes in two parts", split_characters

    def tries():
        """A try that was cut is not part of the answer, and calls are numbered."""
        provider.in_order(
            {"response": {"content": TEXT, "usage": USAGE}, "chunkSize": 3},
            {"response": {"content": TEXT, "usage": USAGE}, "chunkSize": 3},
            {"response": {"content": "Another.", "usage": USAGE}, "chunkSize": 3},
        )
        provider.scripted.faults = [{"cut": 1500}]
        messages, result = printed(project, spending("One", "Two"), manifest({"m": model(provider.scripted.port)}))
        equal([answer["text"] for answer in result["output"]["result"]["answers"]], [TEXT, "Another."], "the answers")
        equal((joined(messages, "text", 1), joined(messages, "text", 2)), (TEXT, "Another."), "the parts of the answers")
        cut = joined(messages, "text", 1, attempt=1)
        check(cut and TEXT.startswith(cut) and cut != TEXT, f"expected a part of the text in the try that was cut, found {cut!r}")

    yield "--stream messages: tries and calls can be told apart", tries

    def live():
        """Parts are printed when they arrive."""
        provider.script({"match": {}, "response": {"content": TEXT, "usage": USAGE}, "chunkSize": 6, "latency": 150})
        _, process = project.start(spending("One"), manifest({"m": model(provider.scripted.port)}), "--stream", "messages", "--json")
        first = process.stdout.readline()
        check(json.loads(first)["kind"] == "message", f"expected a part of the answer first, found {first}")
        check(not provider.scripted.exchanges[0].ended.is_set(), "the first part is printed when the answer has ended")
        project.printed += [first, *process.communicate(timeout=60)]

    yield "--stream messages: parts are printed while the answer arrives", live
