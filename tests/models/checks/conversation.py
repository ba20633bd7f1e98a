"""The conversation of conversation.json, through each API, streamed and whole."""

import json
import pathlib

from project import APIS, ITEM, asking, check, cost, equal, manifest, model, spend, PRICE

SCRIPT = json.loads((pathlib.Path(__file__).parent.parent / "conversation.json").read_text())
TOKENS = (SCRIPT["usage"]["anthropic"]["input_tokens"], SCRIPT["usage"]["anthropic"]["output_tokens"])
CATEGORIES = {429: "rate-limited", 500: "transient", 401: "denied"}
# A cut answer is one of the faults. Not every API says that a model has refused.
TURNS = [turn for turn in SCRIPT["turns"] if turn["name"] not in ("cut", "refused")]
(REFUSED,) = (turn for turn in SCRIPT["turns"] if turn["name"] == "refused")


def fixture(turn, api, has_reasoning):
    answer = turn["answer"]
    if "error" in answer:
        return {"response": answer}
    answer = {**answer, "usage": SCRIPT["usage"][api]}
    if api in turn.get("finish", {}):
        answer["finishReason"] = turn["finish"][api]
    if not has_reasoning:
        answer.pop("reasoning", None)
    return {"response": answer, "chunkSize": 7}


def expected(turn):
    answer = turn["answer"]
    if "error" in answer:
        return {"turn": turn["name"], "category": CATEGORIES[answer["status"]]}
    calls = [{"tool_call": {**call, "arguments": json.loads(call["arguments"])}} for call in answer.get("toolCalls", [])]
    blocks = ([{"text": answer["content"]}] if "content" in answer else []) + calls
    stop = "tool_calls" if calls else "max_output" if answer.get("finishReason") == "length" else "refused" if "finish" in turn else "end"
    usage = {"input": TOKENS[0], "output": TOKENS[1], "cached": 0, "reasoning": 0, "cost": cost(PRICE, *TOKENS)}
    return {"turn": turn["name"], "blocks": blocks, "stop": stop, "usage": usage}


def hold(project, turns, api, streamed, has_reasoning, item=ITEM):
    """Holds the conversation: its transcript, with the messages of failures apart, the document of the run, and what was sent."""
    provider = project.provider
    provider.in_order(*(fixture(turn, api, has_reasoning) for turn in turns))
    conversation = asking(item, op="converse", model="m", system=SCRIPT["system"], tools=SCRIPT["tools"],
                          turns=[{"name": turn["name"], "user": turn["user"], "request": turn.get("request", {})} for turn in turns])  # fmt: skip
    one = model(provider.scripted.port, api, stream=streamed, attempts=1, media_tokens=2000)
    if not has_reasoning and api != "anthropic":
        # Of one that reasons, aimock's Responses answer with reasoning whatever the fixture says.
        one["model"] = "gpt-4o"
    run, document = project.run(conversation, manifest({"m": one}, item=item), name="conversation")
    transcript = document["output"]["result"]["transcript"]
    exchanges = provider.scripted.take()
    equal(project.show(run)["model"], spend(exchanges), "what was spent")
    check(all(exchange.body.get("stream", False) == streamed for exchange in exchanges), "requests are streamed as the manifest says")
    messages = []
    for turn in transcript:
        if failed := turn.pop("failed", None):
            turn["category"] = failed["category"]
            messages.append(failed["message"])
    return transcript, messages, document, [exchange.body for exchange in exchanges]


def rows(project):
    def transcripts():
        digests = {}
        for has_reasoning in (True, False):
            for api in APIS:
                for streamed in (False, True):
                    name = f"{api}, {'streamed' if streamed else 'whole'}, {'with' if has_reasoning else 'without'} reasoning"
                    transcript, messages, document, _ = hold(project, TURNS, api, streamed, has_reasoning)
                    equal(transcript, [expected(turn) for turn in TURNS], f"the transcript, {name}")
                    equal(len(messages), 3, f"failures, {name}")
                    check("Slow down" in messages[0] and "429" in messages[0] and "`m`" in messages[0], f"{name}: {messages}")
                    # What a provider calls reasoning is of its own form, and takes fuel in proportion.
                    if not has_reasoning:
                        result = document["checkpoint"]["result_digest"]
                        digests[name] = f"{result}, {document['fuel']} fuel, {document['host_fuel']} host fuel"
        check(len(set(digests.values())) == 1, "the result digests differ:", json.dumps(digests, indent=1))

    def refusals():
        for api in REFUSED["finish"]:
            for streamed in (False, True):
                transcript, _, _, _ = hold(project, [REFUSED], api, streamed, False)
                equal(transcript, [expected(REFUSED)], f"the refusal of {api}")

    yield "three APIs, streamed and whole: one transcript, and the same result digest", transcripts
    yield "a model that refuses", refusals
