"""Answers of language models that the manifest names. Needs `graph-host:host/model` in `wants`, written out in a file below `src`.

    def title(text: str) -> str:
        request = Request("fast", [Message.user(text)], system="Answer with a title of at most six words.", max_output=50)
        return complete(request).message.text()

A conversation is a list of `Message`s. They are params, results and values of channels like any dataclass, with the same JSON in every
language: `{"role": "user", "blocks": [{"text": "…"}]}`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Optional, TypedDict, Union

from . import text
from .bindings import imported, translated
from .failure import Failure
from .tools import _given

Role = Literal["user", "assistant"]
"""Who a message is from. Results of tools are the user's."""

StopReason = Literal["end", "tool_calls", "max_output", "stop_text", "refused"]
"""Why an answer ends: the model has finished, asks for tools, has reached the most tokens or a text of `stop`, or does not answer."""


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that a model asks for."""

    id: str
    """The provider's id of the call; the result names it."""
    name: str
    """The name of one of the request's tools. It is the model's text: a model can name a tool that does not exist."""
    arguments: Any
    """The arguments, an object. They need not fit the tool's schema. Where the model has not written an object, a string with what it has written."""


@dataclass(frozen=True)
class ToolResult:
    """The result of a tool call, in the message after it."""

    id: str
    """The id of the call."""
    content: str
    """What the tool has returned, as text for the model."""
    failed: bool = False
    """The tool has failed; `content` says why."""


@dataclass(frozen=True)
class Media:
    """An image or another file."""

    media_type: str
    """Its type, as `image/png`."""
    data: str
    """Its bytes, as Base64 text."""

    @classmethod
    def of(cls, media_type: str, content: bytes) -> Media:
        """A file of bytes."""
        return cls(media_type, base64.b64encode(content).decode())

    def content(self) -> bytes:
        """Its bytes. Raises a `Failure` of category `invalid-input` if `data` is no Base64 text."""
        try:
            return base64.b64decode(self.data, validate=True)
        except (binascii.Error, ValueError):
            raise Failure("invalid-input", f"the data of a file of type {self.media_type} is no Base64 text") from None


class TextBlock(TypedDict):
    """Text, not empty."""

    text: str


class ReasoningBlock(TypedDict):
    """What the model has thought, in the form of its provider; only from the assistant. It is sent back unchanged."""

    reasoning: Any


class ToolCallBlock(TypedDict):
    """A call of a tool; only from the assistant."""

    tool_call: ToolCall


class ToolResultBlock(TypedDict):
    """A result of a tool; only from the user."""

    tool_result: ToolResult


class MediaBlock(TypedDict):
    """A file; only from the user."""

    media: Media


Block = Union[TextBlock, ReasoningBlock, ToolCallBlock, ToolResultBlock, MediaBlock]
"""A part of a message: a dictionary with one key, which says what it is."""


@dataclass(frozen=True)
class Message:
    """A message of a conversation."""

    role: Role
    """Who it is from."""
    blocks: list[Block]
    """Its parts, in order. A model can answer with none."""

    @classmethod
    def user(cls, content: str) -> Message:
        """A message of the user with one text."""
        return cls("user", [{"text": content}])

    @classmethod
    def assistant(cls, content: str) -> Message:
        """A message of the assistant with one text."""
        return cls("assistant", [{"text": content}])

    @classmethod
    def results(cls, results: Iterable[ToolResult]) -> Message:
        """A message of the user with results of tools."""
        return cls("user", [{"tool_result": result} for result in results])

    def text(self) -> str:
        """The texts of the message, joined without a separator."""
        return "".join(self._all("text"))

    def tool_calls(self) -> list[ToolCall]:
        """The calls of tools that the message asks for, in order."""
        return self._all("tool_call")

    def tool_results(self) -> list[ToolResult]:
        """The results of tools that the message has, in order."""
        return self._all("tool_result")

    def _all(self, kind: str) -> list[Any]:
        return [block[kind] for block in self.blocks if kind in block]  # type: ignore[literal-required]


@dataclass(frozen=True)
class Tool:
    """A tool that the model may ask for."""

    name: str
    """Its name: letters, digits, `_` and `-`, at most 64 bytes."""
    parameters: dict[str, Any]
    """The JSON Schema of its arguments, an object."""
    description: str = ""
    """What it is for."""


class Named(TypedDict):
    """The choice of one tool."""

    named: str


ToolChoice = Union[Literal["auto", "none", "required"], Named]
"""Which tools the model may ask for: any or none, none, at least one, or the named one."""


@dataclass
class Request:
    """A request of a completion. The host refuses one that breaks a rule of `graph-host:host/model`."""

    model: str
    """The name of the model in the manifest."""
    messages: list[Message]
    """The conversation; the last message is the user's."""
    system: Optional[str] = None
    """Instructions that precede the conversation."""
    tools: list[Tool] = field(default_factory=list)
    """The tools that the model may ask for."""
    tool_choice: ToolChoice = "auto"
    """Which of them; without meaning if there are none."""
    output_schema: Optional[dict[str, Any]] = None
    """The JSON Schema that the answer's text has to fit; None: free text."""
    max_output: Optional[int] = None
    """The most tokens of an answer; the manifest's bound of the model holds, too."""
    temperature: Optional[float] = None
    """The temperature, from 0 to 2; None: the provider's default."""
    stop: list[str] = field(default_factory=list)
    """Texts at which the model stops, at most four."""


@dataclass(frozen=True)
class Usage:
    """What a call has used."""

    input: int = 0
    """Tokens of the request, those from a cache included."""
    output: int = 0
    """Tokens of the answer, those of its reasoning included."""
    cached: int = 0
    """Tokens of the request that the provider has read from a cache."""
    reasoning: int = 0
    """Tokens of the answer that are reasoning."""
    cost: int = 0
    """The cost by the manifest's prices, in millionths of its currency."""


@dataclass(frozen=True)
class Response:
    """An answer."""

    message: Message
    """The assistant's message."""
    stop: StopReason
    """Why it ends."""
    usage: Usage = Usage()
    """What it has used."""

    @classmethod
    def of(cls, content: str, usage: Usage = Usage(), stop: StopReason = "end") -> Response:
        """An answer with one text: for tests."""
        return cls(Message.assistant(content), stop, usage)

    @classmethod
    def calling(cls, *calls: tuple[str, Any], usage: Usage = Usage()) -> Response:
        """An answer that asks for tools, by their names and arguments, with the ids `call-1`, `call-2` and so on: for tests."""
        blocks: list[Block] = [
            {"tool_call": ToolCall(f"call-{number}", name, arguments)} for number, (name, arguments) in enumerate(calls, 1)
        ]
        return cls(Message("assistant", blocks), "tool_calls", usage)


@dataclass(frozen=True)
class Budget:
    """What is left of a task's budget. A figure that is None has no limit."""

    calls: Optional[int] = None
    """Calls."""
    input: Optional[int] = None
    """Tokens of requests."""
    output: Optional[int] = None
    """Tokens of answers."""
    cost: Optional[int] = None
    """Millionths of the manifest's currency."""


def complete(request: Request) -> Response:
    """Asks a model, and gives its whole answer. Each call costs what the manifest says and draws on its budget.

    Raises a `Failure`: `denied` for a model that is not granted, `invalid-input` for a request that breaks a rule or that the provider
    rejects, `limit` if the budget does not suffice, `rate-limited`, `timeout` and `transient` for what may work later, `permanent` for the
    rest.
    """
    module = _module()
    asked = _request(module, request)
    answer = translated(lambda: module.complete(asked), _given)
    usage = Usage(**{name: getattr(answer.usage, name) for name in Usage.__dataclass_fields__})
    return Response(message_of(answer.message), answer.stop.name.lower(), usage)


def models() -> list[str]:
    """The names of the models that the node may ask, in the manifest's order."""
    return list(_module().models())


def remaining() -> Budget:
    """What is left of the task's budget."""
    left = _module().remaining()
    return Budget(**{name: getattr(left, name) for name in Budget.__dataclass_fields__})


def message_of(given: Any) -> Message:
    """A message of the host."""
    return Message(given.role.name.lower(), [_BLOCKS[type(one).__name__](one.value) for one in given.blocks])


_BLOCKS: dict[str, Any] = {
    "Block_Text": lambda value: {"text": value},
    "Block_Reasoning": lambda value: {"reasoning": text.parse(value)},
    "Block_ToolCall": lambda value: {"tool_call": ToolCall(value.id, value.name, text.parse(value.arguments))},
    "Block_ToolResult": lambda value: {"tool_result": ToolResult(value.id, value.content, value.failed)},
    "Block_Media": lambda value: {"media": Media.of(value.media_type, bytes(value.data))},
}


def _module() -> Any:
    try:
        return imported("model")
    except ModuleNotFoundError:
        raise RuntimeError("a language model needs `graph-host:host/model` in `wants`, in a file below `src`") from None


def _request(module: Any, of: Request) -> Any:
    tools = [module.Tool(text.checked(tool.name), text.checked(tool.description), text.write(tool.parameters)) for tool in of.tools]
    return module.Request(
        model=text.checked(of.model),
        system=None if of.system is None else text.checked(of.system),
        messages=[message_to(module, message) for message in of.messages],
        tools=tools,
        tool_choice=_choice(module, of.tool_choice),
        output_schema=None if of.output_schema is None else text.write(of.output_schema),
        max_output=_tokens(of.max_output),
        temperature=_temperature(of.temperature),
        stop=[text.checked(one) for one in of.stop],
    )


def _choice(module: Any, choice: ToolChoice) -> Any:
    if isinstance(choice, dict) and list(choice) == ["named"]:
        return module.ToolChoice_Named(text.checked(choice["named"]))
    if choice not in ("auto", "none", "required"):
        raise Failure("invalid-input", f'tool_choice: {choice!r} is none of "auto", "none", "required" and {{"named": NAME}}')
    # componentize-py puts an underline behind a word of Python.
    return getattr(module, "ToolChoice_None_" if choice == "none" else f"ToolChoice_{choice.capitalize()}")()


def _tokens(most: int | None) -> int | None:
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or not 0 <= most < 2**64):
        raise Failure("invalid-input", f"max_output: {most!r} is no number of tokens")
    return most


def _temperature(given: float | None) -> float | None:
    if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float))):
        raise Failure("invalid-input", f"temperature: {given!r} is no number")
    return None if given is None else float(given)


def message_to(module: Any, message: Message) -> Any:
    """A message for the host."""
    if message.role not in ("user", "assistant"):
        raise Failure("invalid-input", f"{message.role!r} is no role; they are: user, assistant")
    return module.Message(module.Role[message.role.upper()], [_block(module, block) for block in message.blocks])


def _block(module: Any, block: Any) -> Any:
    kind, value = next(iter(block.items()), (None, None))
    if len(block) == 1 and kind == "text":
        return module.Block_Text(text.checked(value))
    if len(block) == 1 and kind == "reasoning":
        return module.Block_Reasoning(text.write(value))
    if len(block) == 1 and kind == "tool_call":
        call = module.ToolCall(text.checked(value.id), text.checked(value.name), text.write(value.arguments))
        return module.Block_ToolCall(call)
    if len(block) == 1 and kind == "tool_result":
        return module.Block_ToolResult(module.ToolResult(text.checked(value.id), text.checked(value.content), bool(value.failed)))
    if len(block) == 1 and kind == "media":
        return module.Block_Media(module.Media(text.checked(value.media_type), value.content()))
    known = ", ".join(("text", "reasoning", "tool_call", "tool_result", "media"))
    raise Failure("invalid-input", f"a block has one key of {known}, and this one has {', '.join(map(repr, block)) or 'none'}")
