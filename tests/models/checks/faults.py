"""What goes wrong at a provider, and between it and the host."""

import json
import os
import pathlib
import random
import socket
import time

from project import APIS, check, equal, manifest, model, spend, spending

FAULTS = json.loads((pathlib.Path(__file__).parent.parent / "faults.json").read_text())
USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30, "input_tokens": 20, "output_tokens": 10}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def fixture(answer):
    given = {"chunkSize": 2}
    if "error" in answer:
        given["response"] = {"error": {"message": "It does not work", "type": "x"}, "status": answer["error"]}
        if "retryAfter" in answer:
            given["response"]["retryAfter"] = answer["retryAfter"]
    else:
        given["response"] = {"content": answer.get("text", "None."), "usage": USAGE}
    for name, key in (("chaos", "chaos"), ("cut", "truncateAfterChunks"), ("disconnect", "disconnectAfterMs"), ("latency", "latency")):
        if name in answer:
            given[key] = answer[name]
    return given


def check_fault(project, fault, api, streamed):
    provider = project.provider
    provider.in_order(*map(fixture, fault["answers"]))
    settings = {"stream": streamed, "attempts": fault.get("attempts", 3), "timeout": fault.get("timeout", "20s")}
    caps = manifest({"m": model(provider.scripted.port, api, **settings)}, timeout=fault.get("deadline", "30s"))
    expect = fault["expect"]
    began = time.monotonic()
    run, document = project.run(spending("Hello", max_output=50), caps, code=5 if "ends" in expect else 0)
    took = time.monotonic() - began
    exchanges = provider.scripted.take()
    equal(len(exchanges), expect["requests"], "requests")
    equal(len(provider.journal()), expect["requests"], "requests in aimock's journal")
    if "ends" in expect:
        failed = document["error"]
        equal(failed["category"], expect["ends"], f"the category of the failure {failed['message']!r}")
    else:
        (answer,) = document["output"]["result"]["answers"]
        failed = answer.get("failed")
        if "text" in expect:
            equal(answer.get("text"), expect["text"], f"the answer, of {answer}")
        else:
            check(failed, f"expected a failure, found {answer}")
            equal(failed["category"], expect["category"], f"the category of the failure {failed['message']!r}")
            check("`m`" in failed["message"] and "127.0.0.1" in failed["message"], f"expected the model and its provider in {failed['message']!r}")
    if "message" in expect:
        check(expect["message"] in failed["message"], f"expected {expect['message']!r} in {failed['message']!r}")
    least, most = expect.get("seconds", [0, 60])
    check(least <= took <= most, f"expected that it takes {least} to {most} seconds, not {took:.1f}")
    equal(project.show(run)["model"], spend(exchanges), "what was spent")


def cut_places(length, sample):
    """Bytes after which an answer is cut: all, or its ends and a sample."""
    if os.environ.get("FULL"):
        return list(range(length))
    ends = {0, 1, length - 1, length - 2, length - 7}
    return sorted(ends | set(sample.sample(range(length), 20)))


def rows(project, seed):
    provider = project.provider

    def one(fault):
        def row():
            for at, api in enumerate(APIS):
                for streamed in (True, False):
                    if fault.get("only") == "streamed" and not streamed:
                        continue
                    # What takes long is not tried in each way.
                    if fault["expect"].get("seconds", [0])[0] and (at, streamed) != (0, True):
                        continue
                    try:
                        check_fault(project, fault, api, streamed)
                    except AssertionError as problem:
                        raise AssertionError(f"{api}, {'streamed' if streamed else 'whole'}: {problem}") from problem

        return row

    for fault in FAULTS:
        yield fault["name"], one(fault)

    def cuts(api, streamed):
        """One run whose answers are each cut after another number of bytes."""

        def row():
            sample = random.Random(f"{seed}-{api}-{streamed}")
            relay = provider.scripted
            text = "Some text – with 漢字 in it."
            provider.script({"match": {}, "response": {"content": text, "usage": USAGE}, "chunkSize": 5})
            caps = manifest({"m": model(relay.port, api, stream=streamed, attempts=1)}, task={"calls": 100_000, "output_tokens": 10_000_000, "input_tokens": 10**9},
                            run={"calls": 100_000, "output_tokens": 10_000_000, "input_tokens": 10**9}, timeout="60s")  # fmt: skip
            project.run(spending("Hello"), caps)
            (whole,) = relay.take()
            places = cut_places(len(whole.answer), sample)
            for start in range(0, len(places), 50):
                some = places[start : start + 50]
                faults = [{"reset" if index % 3 == 2 else "cut": place} for index, place in enumerate(some)]
                relay.faults = list(faults)
                run, document = project.run(spending(*["Hello"] * len(some)), caps)
                exchanges = relay.take()
                equal(len(exchanges), len(some), "requests")
                for fault, exchange, answer in zip(faults, exchanges, document["output"]["result"]["answers"]):
                    found = answer.get("failed", {}).get("category") or answer["text"]
                    what = f"{fault} of {len(exchange.answer)} bytes: expected a transient failure, found {answer}"
                    check(found == "transient", what)
                equal(project.show(run)["model"], spend(exchanges), "what was spent")

        return row

    for api in APIS:
        for streamed in (True, False):
            yield f"answers that are cut at any byte, {api}, {'streamed' if streamed else 'whole'}", cuts(api, streamed)

    def answered(name, answer, category, more=""):
        """An answer that aimock does not give."""

        def row():
            provider.script({"match": {}, "response": {"content": "Not asked."}})
            relay = provider.scripted
            relay.faults = [{"answer": answer}]
            caps = manifest({"m": model(relay.port, attempts=1)}, response_body="64KiB")
            run, document = project.run(spending("Hello", max_output=50), caps)
            exchanges = relay.take()
            (found,) = document["output"]["result"]["answers"]
            equal(len(exchanges), 1, "requests")
            check(category == (found.get("failed") or {}).get("category"), f"expected the category {category}, found {found}")
            check(more in json.dumps(found), f"expected {more!r} in {found}")
            equal(project.show(run)["model"], spend(exchanges), "what was spent")
            equal(len(provider.journal()), 0, "requests that were sent elsewhere")

        return name, row

    def with_length(head, body):
        return head + b"content-length: %d\r\n\r\n" % len(body) + body

    said = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Free."}, "finish_reason": "stop"}]}).encode()
    elsewhere = f"location: http://127.0.0.1:{provider.scripted.upstream}/v1/chat/completions\r\n".encode()
    yield answered("an answer without usage", with_length(HEAD, said), None, "Free.")
    yield answered("an answer that is larger than the task may receive", with_length(HEAD, b" " * 70_000 + said), "permanent")
    yield answered("an answer of deep JSON", with_length(HEAD, b"[" * 50_000), "permanent")
    yield answered("a redirect: the key is not sent elsewhere", with_length(b"HTTP/1.1 307 Temporary Redirect\r\n" + elsewhere, b""), "permanent")
    yield answered("a proxy's page", with_length(b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\n", b"<html>Bad"), "transient", "502")
    yield answered("no HTTP", b"SSH-2.0-x\r\n\r\n", "permanent")

    def refused():
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        run, document = project.run(spending("Hello"), manifest({"m": model(port, attempts=2)}))
        (answer,) = document["output"]["result"]["answers"]
        equal(answer["failed"]["category"], "transient", f"the category of {answer}")
        check(f"127.0.0.1:{port}" in answer["failed"]["message"], f"expected the provider in {answer}")
        spent = project.show(run)["model"]
        check((spent["input_tokens"], spent["output_tokens"], spent["cost"]) == (0, 0, 0), f"expected that nothing but tries is counted: {spent}")
        equal(spent["calls"], 2, "tries")

    yield "a port at which there is no provider", refused
