"""A host of plain values, for tests of nodes.

    with testing.host() as host:
        host.files["/data/a.txt"] = b"one"
        assert action(Params("/data/a.txt")) == 1
"""

from __future__ import annotations

import contextlib
import enum
import random
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import testing_models, text
from .failure import CATEGORIES, Failure
from .model import Budget, Request as ModelRequest, Response as ModelResponse


@dataclass
class Request:
    """A request that a node has sent."""

    method: str
    url: str
    fields: list[tuple[str, bytes]]
    body: bytes


@dataclass
class Host:
    """What the doubles of the host hold. A test sets it, and reads what a node has done."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    """Log lines: their levels and texts."""
    records: list[tuple[str, Any]] = field(default_factory=list)
    """Records of the event stream: their names and payloads."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files of the granted folders, by path."""
    folders: tuple[str, ...] = ("/",)
    """The granted folders."""
    created: set[str] = field(default_factory=set)
    """Folders that the node has created, or has emptied, by path. A test may add some."""
    knowledge: dict[str, str] = field(default_factory=dict)
    """Entries of knowledge, by key."""
    secrets: dict[str, str] = field(default_factory=dict)
    """Handles of secrets, by name."""
    items: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Items, by id: each a function from params to a result."""
    clock: float = 0.0
    """The time of the superstep, in seconds since 1970."""
    seed: int = 0
    """Where random bytes begin."""
    serve: Callable[[Request], tuple[int, list[tuple[str, bytes]], bytes]] | None = None
    """Answers a request with a status, fields and a body."""
    models: dict[str, list[ModelResponse | Failure]] = field(default_factory=dict)
    """Granted language models, by name: what each answers to its next calls, in order. A call without an answer is a failure."""
    model_budget: Budget = Budget()
    """What is left of the task's budget of models. Answers draw on it, and a call is refused when no call is left."""
    model_requests: list[ModelRequest] = field(default_factory=list)
    """The requests that language models were sent, in order."""


@contextlib.contextmanager
def host() -> Iterator[Host]:
    """Puts doubles in the place of the host's interfaces."""
    doubled = Host()
    modules = {f"wit_world.imports.{name}": module for name, module in _modules(doubled).items()}
    packages = {name: types.ModuleType(name) for name in ("wit_world", "wit_world.imports")}
    before = {name: sys.modules.get(name) for name in [*packages, *modules]}
    sys.modules.update({**packages, **modules})
    try:
        yield doubled
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


class Err(Exception):
    """An error of the host, as componentize-py raises it."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


@dataclass
class Ok:
    """A success of the host, likewise."""

    value: Any


class _Scoped:
    """Something of the host that is closed with its block."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        return None


def _module(name: str, **members: Any) -> types.ModuleType:
    module = types.ModuleType(f"wit_world.imports.{name}")
    module.__dict__.update(members)
    return module


def _modules(of: Host) -> dict[str, types.ModuleType]:
    modules = [
        *_always(of),
        *_knowledge_and_items(of),
        *_clock_and_random(of),
        *_files(of),
        *_requests(of),
        testing_models.module(of, lambda failure: Err(_failure(failure))),
        _node_types(),
    ]
    return {module.__name__.rsplit(".", 1)[-1]: module for module in modules}


def _always(of: Host) -> list[types.ModuleType]:
    level = enum.Enum("Level", ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"], start=0)
    return [
        _module("log", Level=level, log=lambda at, line: of.lines.append((at.name.lower(), line))),
        _module("events", emit=lambda name, payload: of.records.append((name, text.parse(payload)))),
    ]


def _knowledge_and_items(of: Host) -> list[types.ModuleType]:
    hit = types.SimpleNamespace

    def search(prefix: str, query: str, limit: int) -> list[Any]:
        words = query.lower().split()
        found = sorted(key for key in of.knowledge if key.startswith(prefix))
        hits = [key for key in found if all(word in of.knowledge[key].lower().split() for word in words)]
        return [hit(key=key, excerpt=of.knowledge[key]) for key in hits[:limit]]

    def listed(prefix: str, after: str | None, limit: int) -> list[str]:
        return sorted(key for key in of.knowledge if key.startswith(prefix) and key > (after or ""))[:limit]

    def handle(name: str) -> str:
        if name not in of.secrets:
            raise Err("not-granted")
        return of.secrets[name]

    def call(item: str, params: str) -> str:
        if item not in of.items:
            raise Err(_failure(Failure("denied", f"`{item}` may not be called")))
        try:
            return text.write(of.items[item](text.parse(params)))
        except Failure as failure:
            raise Err(_failure(failure)) from None

    return [
        _module("knowledge", get=of.knowledge.get, put=of.knowledge.__setitem__, search=search, list=listed),
        _module("secrets", handle=handle, names=lambda: list(of.secrets)),
        _module("tools", call=call),
    ]


_Category = enum.Enum("_Category", [name.replace("-", "_").upper() for name in CATEGORIES], start=0)


def _failure(failure: Failure) -> Any:
    category = _Category[failure.category.replace("-", "_").upper()]
    details = None if failure.details is None else text.write(failure.details)
    return types.SimpleNamespace(category=category, message=failure.message, details=details)


def _clock_and_random(of: Host) -> list[types.ModuleType]:
    numbers: list[random.Random] = []

    def random_bytes(count: int) -> bytes:
        if not numbers:
            numbers.append(random.Random(of.seed))
        return bytes(numbers[0].getrandbits(8) for _ in range(count))

    def now() -> Any:
        # A float of today has no nanoseconds.
        seconds, microseconds = divmod(round(of.clock * 1e6), 10**6)
        return types.SimpleNamespace(seconds=seconds, nanoseconds=microseconds * 1000)

    class Passing(_Scoped):
        def __init__(self, nanoseconds: int) -> None:
            self.nanoseconds = nanoseconds

        def block(self) -> None:
            of.clock += self.nanoseconds / 1e9

    return [
        _module("wall_clock", now=now),
        _module("monotonic_clock", subscribe_duration=Passing),
        _module("random", get_random_bytes=random_bytes),
    ]


def _files(of: Host) -> list[types.ModuleType]:
    code = enum.Enum("ErrorCode", ["NO_ENTRY", "EXIST", "IS_DIRECTORY", "NOT_DIRECTORY"])
    kind = enum.Enum("DescriptorType", ["REGULAR_FILE", "DIRECTORY"])
    path_flags = enum.Flag("PathFlags", ["SYMLINK_FOLLOW"])
    open_flags = enum.Flag("OpenFlags", ["CREATE", "DIRECTORY", "EXCLUSIVE", "TRUNCATE"])
    descriptor_flags = enum.Flag("DescriptorFlags", ["READ", "WRITE"])

    def with_slash(path: str) -> str:
        return f"{path.rstrip('/')}/"

    def parent(path: str) -> str:
        return path.rpartition("/")[0] or "/"

    def paths() -> list[str]:
        return [*of.files, *of.created, *of.folders]

    def is_folder(path: str) -> bool:
        """A folder is there if it is granted, was created, or has something below it."""
        named = {"/", *(name.rstrip("/") for name in of.folders), *of.created}
        return path in named or any(name.startswith(with_slash(path)) for name in paths())

    def check_folder(path: str) -> None:
        if not is_folder(path):
            raise Err(code.NOT_DIRECTORY if path in of.files else code.NO_ENTRY)

    class Descriptor(_Scoped):
        def __init__(self, path: str) -> None:
            self.path = path

        def _below(self, rest: str) -> str:
            return self.path if rest == "." else f"{self.path.rstrip('/')}/{rest}"

        def open_at(self, _: Any, rest: str, how: Any, __: Any) -> Descriptor:
            path = self._below(rest)
            if how & open_flags.DIRECTORY:
                check_folder(path)
            elif is_folder(path):
                raise Err(code.IS_DIRECTORY)
            elif path not in of.files and not how & open_flags.CREATE:
                raise Err(code.NO_ENTRY)
            elif path not in of.files:
                check_folder(parent(path))
                of.files[path] = b""
            elif how & open_flags.TRUNCATE:
                of.files[path] = b""
            return Descriptor(path)

        def read(self, length: int, offset: int) -> tuple[bytes, bool]:
            content = of.files[self.path]
            return content[offset : offset + length], offset + length >= len(content)

        def write(self, data: bytes, offset: int) -> int:
            content = of.files[self.path]
            of.files[self.path] = content[:offset] + data + content[offset + len(data) :]
            return len(data)

        def stat_at(self, _: Any, rest: str) -> Any:
            path = self._below(rest)
            if path in of.files:
                return types.SimpleNamespace(type=kind.REGULAR_FILE, size=len(of.files[path]))
            if is_folder(path):
                return types.SimpleNamespace(type=kind.DIRECTORY, size=0)
            raise Err(code.NO_ENTRY)

        def unlink_file_at(self, rest: str) -> None:
            path = self._below(rest)
            if is_folder(path):
                raise Err(code.IS_DIRECTORY)
            if of.files.pop(path, None) is None:
                raise Err(code.NO_ENTRY)
            # The folder stays where nothing is in it any more.
            of.created.add(parent(path))

        def create_directory_at(self, rest: str) -> None:
            path = self._below(rest)
            if path in of.files or is_folder(path):
                raise Err(code.EXIST)
            check_folder(parent(path))
            of.created.add(path)

        def read_directory(self) -> Entries:
            prefix = with_slash(self.path)
            below = {name.removeprefix(prefix).split("/")[0] for name in paths() if name.startswith(prefix)}
            return Entries([(name, is_folder(f"{prefix}{name}")) for name in sorted(below - {""})])

    class Entries(_Scoped):
        def __init__(self, entries: list[tuple[str, bool]]) -> None:
            self.entries = iter(entries)

        def read_directory_entry(self) -> Any:
            entry = next(self.entries, None)
            if entry is None:
                return None
            return types.SimpleNamespace(name=entry[0], type=kind.DIRECTORY if entry[1] else kind.REGULAR_FILE)

    return [
        _module(
            "wasi_filesystem_types", PathFlags=path_flags, OpenFlags=open_flags, DescriptorFlags=descriptor_flags
        ),
        _module("preopens", get_directories=lambda: [(Descriptor(path), path) for path in of.folders]),
    ]


def _requests(of: Host) -> list[types.ModuleType]:
    class Fields(_Scoped):
        def __init__(self, entries: list[tuple[str, bytes]]) -> None:
            self._entries = entries

        @staticmethod
        def from_list(entries: list[tuple[str, bytes]]) -> Fields:
            return Fields(entries)

        def entries(self) -> list[tuple[str, bytes]]:
            return self._entries

    class Stream(_Scoped):
        def __init__(self, content: bytearray) -> None:
            self.content = content

        def blocking_write_and_flush(self, data: bytes) -> None:
            self.content += data

        def blocking_read(self, length: int) -> bytes:
            if not self.content:
                raise Err(StreamError_Closed())
            data = bytes(self.content[:length])
            del self.content[:length]
            return data

    class StreamError_Closed:
        pass

    class Body(_Scoped):
        def __init__(self, content: bytearray) -> None:
            self.content = content

        def write(self) -> Stream:
            return Stream(self.content)

        stream = write

        @staticmethod
        def finish(_: Any, __: Any) -> None:
            return None

    class OutgoingRequest:
        def __init__(self, fields: Fields) -> None:
            self.fields, self.parts, self.content = fields, dict[str, Any](), bytearray()

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("set_"):
                raise AttributeError(name)
            return lambda value: self.parts.__setitem__(name.removeprefix("set_"), value)

        def body(self) -> Body:
            return Body(self.content)

    class Response(_Scoped):
        def __init__(self, answer: tuple[int, list[tuple[str, bytes]], bytes]) -> None:
            self.answer = answer

        def status(self) -> int:
            return self.answer[0]

        def headers(self) -> Fields:
            return Fields([(name.lower(), value) for name, value in self.answer[1]])

        def consume(self) -> Body:
            return Body(bytearray(self.answer[2]))

    class Pending(_Scoped):
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def subscribe(self) -> Pending:
            return self

        def block(self) -> None:
            return None

        def get(self) -> Any:
            return Ok(Ok(self.answer))

    def named(name: str) -> type:
        return type(name, (), {})

    methods = {f"Method_{name}": named(name) for name in ("Get", "Head", "Post", "Put", "Delete", "Options", "Patch")}
    denied = type("ErrorCode_HttpRequestDenied", (), {})

    def handle(request: OutgoingRequest, _: Any) -> Pending:
        if of.serve is None:
            raise Err(denied())
        parts = request.parts
        method = getattr(parts["method"], "value", type(parts["method"]).__name__.upper())
        url = f"{type(parts['scheme']).__name__.lower()}://{parts['authority']}{parts['path_with_query']}"
        sent = Request(method, url, request.fields.entries(), bytes(request.content))
        return Pending(Response(of.serve(sent)))

    return [
        _module(
            "wasi_http_types",
            Fields=Fields,
            OutgoingBody=Body,
            OutgoingRequest=OutgoingRequest,
            Method_Other=Ok,
            Scheme_Http=named("Http"),
            Scheme_Https=named("Https"),
            **methods,
        ),
        _module("outgoing_handler", handle=handle),
    ]


def _node_types() -> types.ModuleType:
    def record(name: str, *fields: str) -> type:
        return dataclass(type(name, (), {"__annotations__": {one: Any for one in fields}}))

    return _module(
        "graph_host_node_types",
        Category=_Category,
        Err=Err,
        Command=record("Command", "update", "goto"),
        Description=record("Description", "summary", "params", "result", "interfaces"),
        Failure=record("Failure", "category", "message", "details"),
        Outcome_Command=record("Outcome_Command", "value"),
        Outcome_Interrupt=record("Outcome_Interrupt", "value"),
        Outcome_Result=record("Outcome_Result", "value"),
        Target=record("Target", "node", "argument"),
        WantedInterface=record("WantedInterface", "name", "why"),
    )
