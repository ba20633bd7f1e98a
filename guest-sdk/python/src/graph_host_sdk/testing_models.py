"""Language models of a test: answers in the order in which the test gives them, for requests that a host would take."""

from __future__ import annotations

import enum
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import text
from .failure import Failure
from .model import Budget, Message, Request, Tool, message_of, message_to


def module(of: Any, refused: Callable[[Failure], Exception]) -> types.ModuleType:
    """The interface of language models of a test's host. `refused` makes the host's error of a failure."""
    made = types.ModuleType("wit_world.imports.model")
    made.__dict__.update(_types())

    def complete(asked: Any) -> Any:
        try:
            answer = _answer(of, _request_of(asked))
        except Failure as failure:
            raise refused(failure) from None
        usage = types.SimpleNamespace(**vars(answer.usage))
        stop = made.StopReason[answer.stop.upper()]
        return types.SimpleNamespace(message=message_to(made, answer.message), stop=stop, usage=usage)

    made.__dict__.update(complete=complete, models=lambda: list(of.models), remaining=lambda: of.model_budget)
    return made


def _types() -> dict[str, Any]:
    def record(name: str, *fields: str) -> type:
        return dataclass(type(name, (), {"__annotations__": {one: Any for one in fields}}))

    names = ("model", "system", "messages", "tools", "tool_choice", "output_schema", "max_output", "temperature", "stop")
    records = [
        record("Request", *names),
        record("Message", "role", "blocks"),
        record("Tool", "name", "description", "parameters"),
        record("ToolCall", "id", "name", "arguments"),
        record("ToolResult", "id", "content", "failed"),
        record("Media", "media_type", "data"),
        *(record(f"Block_{kind}", "value") for kind in ("Text", "Reasoning", "ToolCall", "ToolResult", "Media")),
        *(record(f"ToolChoice_{kind}") for kind in ("Auto", "None_", "Required")),
        record("ToolChoice_Named", "value"),
        enum.Enum("Role", ["USER", "ASSISTANT"], start=0),
        enum.Enum("StopReason", ["END", "TOOL_CALLS", "MAX_OUTPUT", "STOP_TEXT", "REFUSED"], start=0),
    ]
    return {one.__name__: one for one in records}


def _request_of(given: Any) -> Request:
    chosen = type(given.tool_choice).__name__.removeprefix("ToolChoice_").rstrip("_")
    return Request(
        model=given.model,
        messages=[message_of(message) for message in given.messages],
        system=given.system,
        tools=[Tool(tool.name, text.parse(tool.parameters), tool.description) for tool in given.tools],
        tool_choice={"named": given.tool_choice.value} if chosen == "Named" else chosen.lower(),  # type: ignore[arg-type]
        output_schema=None if given.output_schema is None else text.parse(given.output_schema),
        max_output=given.max_output,
        temperature=given.temperature,
        stop=given.stop,
    )


def _answer(of: Any, request: Request) -> Any:
    if request.model not in of.models:
        raise Failure("denied", f"the model `{request.model}` is not granted")
    check(request)
    if of.model_budget.calls == 0:
        raise Failure("limit", "no call of a model is left")
    _spend(of, calls=1)
    of.model_requests.append(request)
    if not of.models[request.model]:
        raise Failure("internal", f"the test has no further answer of the model `{request.model}`")
    answer = of.models[request.model].pop(0)
    if isinstance(answer, Failure):
        raise answer
    _spend(of, input=answer.usage.input, output=answer.usage.output, cost=answer.usage.cost)
    return answer


def _spend(of: Any, **used: int) -> None:
    left = vars(of.model_budget)
    of.model_budget = Budget(**{name: had if had is None else max(0, had - used.get(name, 0)) for name, had in left.items()})


def check(request: Request) -> None:
    """Refuses what the host and every provider would refuse."""
    if not request.messages or request.messages[-1].role != "user":
        raise _refused("messages", "the last message must be the user's")
    before: Message | None = None
    for index, message in enumerate(request.messages):
        path = f"messages[{index}]"
        _check_blocks(path, message)
        called = {call.id for call in before.tool_calls()} if before else set()
        answered = [result.id for result in message.tool_results()]
        if called != set(answered) or len(called) != len(answered):
            raise _refused(path, "each call of the message before must have one result")
        before = message
    names = [tool.name for tool in request.tools]
    for tool in request.tools:
        path = f"tools: `{tool.name}`"
        if not re.fullmatch("[A-Za-z0-9_-]{1,64}", tool.name):
            raise _refused(path, "a name has 1 to 64 letters, digits, `_` and `-`")
        if names.count(tool.name) > 1:
            raise _refused(path, "the name is used twice")
        if not isinstance(tool.parameters, dict):
            raise _refused(path, "the parameters must be an object")
    if len(request.stop) > 4:
        raise _refused("stop", "at most 4 texts are allowed")
    if request.temperature is not None and not 0 <= request.temperature <= 2:
        raise _refused("temperature", "must be from 0 to 2")


_ROLES = {"reasoning": "assistant", "tool_call": "assistant", "tool_result": "user", "media": "user"}


def _check_blocks(path: str, message: Message) -> None:
    if message.role == "user" and not message.blocks:
        raise _refused(path, "a message of the user must not be empty")
    for block in message.blocks:
        (kind,) = block
        if kind == "text" and not block["text"]:  # type: ignore[typeddict-item]
            raise _refused(path, "a text must not be empty")
        if _ROLES.get(kind, message.role) != message.role:
            raise _refused(path, "a block is in a message of the wrong role")


def _refused(path: str, rule: str) -> Failure:
    return Failure("invalid-input", f"{path}: {rule}")
