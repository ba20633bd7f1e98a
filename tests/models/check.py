"""Checks recorded exchanges against the official clients of OpenAI and Anthropic.

    check.py RECORDED

The requests have to fit the types of the clients' parameters, without a field that these do not have. The answers are given to the
clients, and what they read has to be what the conversation's script says.
"""

import json
import sys
import types
import typing
from collections import abc
from pathlib import Path

import anthropic
import httpx2
import openai
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming
from typing_extensions import NotRequired, Required, get_type_hints, is_typeddict

PARAMS = {
    "openai-chat": (CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming),
    "openai-responses": (ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming),
    "anthropic": (MessageCreateParamsNonStreaming, MessageCreateParamsStreaming),
}


def misfit(value, expected, path):
    """Where and how `value` does not fit a type; None: it does."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if expected is typing.Any or expected is object:
        return None
    if origin in (Required, NotRequired, typing.Annotated, typing.Required, typing.NotRequired):
        return misfit(value, arguments[0], path)
    if isinstance(expected, typing.TypeVar) or isinstance(expected, str):
        raise TypeError(f"{path}: {expected!r} is not resolved")
    if origin in (typing.Union, types.UnionType):
        found = [misfit(value, one, path) for one in arguments]
        return None if None in found else max(found, key=lambda text: len(text.split(":")[0]))
    if origin is typing.Literal:
        return None if value in arguments else f"{path}: {value!r} is none of {arguments}"
    if is_typeddict(expected):
        return misfit_of_fields(value, expected, path)
    name = getattr(origin, "__name__", "") or getattr(expected, "__name__", "")
    if origin in (list, abc.Iterable, abc.Sequence) or name == "SequenceNotStr":
        if not isinstance(value, list):
            return f"{path}: {value!r} is no list"
        found = (misfit(item, arguments[0], f"{path}[{index}]") for index, item in enumerate(value))
        return next((one for one in found if one), None)
    if origin is dict:
        if not isinstance(value, dict):
            return f"{path}: {value!r} is no object"
        found = (misfit(item, arguments[1], f"{path}.{key}") for key, item in value.items())
        return next((one for one in found if one), None)
    if origin is typing.IO:
        return f"{path}: {value!r} is no open file"
    if expected is None or expected is type(None):
        return None if value is None else f"{path}: {value!r} is not null"
    if expected is float:
        expected = (int, float)
    if isinstance(expected, (type, tuple)):
        fits = isinstance(value, expected) and (expected is bool or not isinstance(value, bool))
        return None if fits else f"{path}: {value!r} is not {expected}"
    raise TypeError(f"{path}: nothing is known of {expected!r}")


def misfit_of_fields(value, expected, path):
    if not isinstance(value, dict):
        return f"{path}: {value!r} is no object"
    hints = get_type_hints(expected, include_extras=True)
    for key, hint in hints.items():
        # Annotations that are texts hide from `__required_keys__` what is in them.
        origin = typing.get_origin(hint)
        required = origin is not NotRequired and (origin is Required or key in expected.__required_keys__)
        if required and key not in value:
            return f"{path}.{key}: missing in {expected.__name__}"
    for key, item in value.items():
        # A tool's schema is an object of any fields.
        if key not in hints and expected.__name__ != "InputSchemaTyped":
            return f"{path}.{key}: not in {expected.__name__}"
        if key in hints and (found := misfit(item, hints[key], f"{path}.{key}")):
            return found
    return None


def in_types(api, body):
    """The request without what the clients' types do not have, on purpose."""
    if api == "anthropic":
        # Newer models choose it themselves; older ones, and other servers, take it.
        return {key: value for key, value in body.items() if key != "temperature"}
    if api == "openai-chat":
        # Not of OpenAI, but of the servers that answer with it.
        messages = [{key: value for key, value in message.items() if key != "reasoning_content"} for message in body["messages"]]
        return body | {"messages": messages}
    return body


def clients(exchange):
    """The clients, connected to a recorded answer."""

    def answer(request):
        return httpx2.Response(exchange["status"], headers=exchange["headers"], content=exchange["body"].encode())

    options = {"api_key": "none", "max_retries": 0, "http_client": httpx2.Client(transport=httpx2.MockTransport(answer))}
    return openai.OpenAI(**options), anthropic.Anthropic(**options)


def read_by_client(api, streamed, exchange):
    """The text, the calls and the tokens of an answer, as the official client reads them."""
    of_openai, of_anthropic = clients(exchange)
    body = exchange["request"]
    if api == "anthropic":
        temperature = {"extra_body": {"temperature": body["temperature"]}} if "temperature" in body else {}
        body = {key: value for key, value in body.items() if key not in ("stream", "temperature")} | temperature
        if streamed:
            with of_anthropic.messages.stream(**body) as stream:
                message = stream.get_final_message()
        else:
            message = of_anthropic.messages.create(**body)
        text = "".join(block.text for block in message.content if block.type == "text")
        calls = [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
        return text, calls, (message.usage.input_tokens, message.usage.output_tokens)
    if api == "openai-responses":
        response = of_openai.responses.create(**body)
        if streamed:
            response = [event for event in response if event.type in ("response.completed", "response.incomplete")][-1].response
        calls = [item for item in response.output if item.type == "function_call"]
        calls = [(call.call_id, call.name, json.loads(call.arguments)) for call in calls]
        return response.output_text, calls, (response.usage.input_tokens, response.usage.output_tokens)
    if streamed:
        body = {key: value for key, value in body.items() if key != "stream"}
        with of_openai.chat.completions.stream(**body) as stream:
            completion = stream.get_final_completion()
    else:
        completion = of_openai.chat.completions.create(**body)
    message = completion.choices[0].message
    calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
    return message.content or "", calls, (completion.usage.prompt_tokens, completion.usage.completion_tokens)


def main(folder):
    script = json.loads((Path(__file__).parent / "conversation.json").read_text())
    answers = {turn["name"]: turn["answer"] for turn in script["turns"]}
    requests = read = 0
    for file in sorted(Path(folder).glob("*.json")):
        recording = json.loads(file.read_text())
        api, streamed = recording["api"], recording["streamed"]
        for exchange in recording["exchanges"]:
            where = f"{file.name}, {exchange['turn']}"
            found = misfit(in_types(api, exchange["request"]), PARAMS[api][streamed], "request")
            assert found is None, f"{where}: {found}"
            requests += 1
            answer = answers[exchange["turn"]]
            # The client of OpenAI raises an error for an answer that is too short to be parsed, and cannot read one that was cut.
            if exchange["status"] != 200 or exchange["turn"] == "cut":
                continue
            try:
                text, calls, tokens = read_by_client(api, streamed, exchange)
            except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError):
                continue
            expected = [(call["id"], call["name"], json.loads(call["arguments"])) for call in answer.get("toolCalls", [])]
            assert text == answer.get("content", ""), f"{where}: {text!r}"
            assert calls == expected, f"{where}: {calls}"
            assert tokens == (120, 45), f"{where}: {tokens}"
            read += 1
    assert requests > 60 and read > 45, (requests, read)
    print(f"{requests} requests fit the types of the official clients, and {read} answers are read alike")


if __name__ == "__main__":
    main(sys.argv[1])
