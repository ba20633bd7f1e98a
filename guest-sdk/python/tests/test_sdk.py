"""Unit tests of the SDK: python3 -m unittest discover -s tests"""

import dataclasses
import datetime
import enum
import json
import os
import random
import secrets as python_secrets
import re
import time
import unittest
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, List, Literal, NewType, Optional, TypedDict, Union

from graph_host_sdk import CATEGORIES, Activation, Command, Context, Failure, clocks, emit, files, http, knowledge
from graph_host_sdk import loading, log, node, randomness, secrets, testing, text, tools
from graph_host_sdk.component import action_of
from graph_host_sdk.schema import from_json, schema_of, to_json


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    """Where something is."""

    x: int
    y: Annotated[float, "How far up."] = 0.0


Name = NewType("Name", str)


class Options(TypedDict, total=False):
    color: Color
    near: list[Point]


@dataclasses.dataclass
class Tree:
    name: str
    children: "list[Tree]"


class Schemas(unittest.TestCase):
    def test_types_have_schemas(self) -> None:
        point = {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "number", "description": "How far up."}},
            "additionalProperties": False,
            "required": ["x"],
            "description": "Where something is.",
        }
        self.assertEqual(schema_of(Point), point)
        for of, schema in [
            (str, {"type": "string"}),
            (None, {"type": "null"}),
            (Any, {}),
            (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            (Literal["a", 1], {"enum": ["a", 1]}),
            (Color, {"enum": ["red", "blue"]}),
            (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
            (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
            (list, {"type": "array"}),
            (List, {"type": "array", "items": {}}),
            (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
            (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
            (Name, {"type": "string"}),
            (Literal[Color.RED], {"enum": ["red"]}),
        ]:
            self.assertEqual(schema_of(of), schema, of)
        options = schema_of(Options)
        self.assertEqual(options["properties"]["near"], {"type": "array", "items": {"$ref": "#/$defs/Point"}})
        self.assertEqual(options["$defs"], {"Point": point})
        self.assertNotIn("required", options)
        # Every reference leads somewhere.
        for of in (Union[Point, list[Point]], Union[Point, Tree], list[Point], Annotated[Point, "x"]):
            schema = json.dumps(schema_of(of))
            self.assertEqual(set(re.findall(r"#/\$defs/(\w+)", schema)), set(schema_of(of).get("$defs", {})), of)
        tree = schema_of(Tree)
        self.assertEqual(tree["$ref"], "#/$defs/Tree")
        self.assertEqual(tree["$defs"]["Tree"]["properties"]["children"]["items"], {"$ref": "#/$defs/Tree"})

    def test_types_without_a_schema_are_refused(self) -> None:
        for of in (set[int], dict[int, str], complex, tuple[int, str]):
            with self.assertRaisesRegex(TypeError, "has no JSON Schema"):
                schema_of(of)

    def test_values_of_types(self) -> None:
        for of, value, expected in [
            (Point, {"x": 9007199254740993}, Point(9007199254740993)),
            (Point, {"x": 1, "y": 2}, Point(1, 2.0)),
            (Options, {"color": "red", "near": [{"x": 1}]}, {"color": Color.RED, "near": [Point(1)]}),
            (Union[int, str], "a", "a"),
            (Optional[Point], None, None),
            (Any, {"x": [1]}, {"x": [1]}),
            (tuple[int, ...], [1, 2], (1, 2)),
            (Literal[1], 1, 1),
            (Literal[Color.RED], "red", Color.RED),
            (Union[float, int], 9007199254740993, 9007199254740993),
            (int, 2.0, 2),
            (Sequence[int], [1], [1]),
            (Name, "a", "a"),
        ]:
            self.assertEqual(from_json(of, value), expected, of)
        self.assertEqual(to_json({"a": Point(1), "b": [Color.BLUE, (1,)]}), {"a": {"x": 1, "y": 0.0}, "b": ["blue", [1]]})

    def test_what_is_no_value_of_a_type_is_told_with_its_place(self) -> None:
        for of, value, reason in [
            (Point, {"x": "1"}, "params.x: str where int has to be"),
            (Point, {"x": True}, "params.x: bool where int has to be"),
            (Point, {}, "params: `x` is missing"),
            (Point, {"x": 1, "z": 1}, "params: `z` is no key of Point"),
            (Tree, {"name": "a", "children": [{"name": "b"}]}, "params.children\\[0\\]: `children` is missing"),
            (Literal[1], True, "params: True is none of 1"),
            (Color, "green", "params: 'green' is none of 'red', 'blue'"),
        ]:
            with self.assertRaisesRegex(ValueError, reason):
                from_json(of, value)


class Texts(unittest.TestCase):
    def test_what_json_cannot_hold_is_refused(self) -> None:
        for value in ({1, 2}, {1: "a"}, float("nan"), float("inf"), "\ud800", {"\ud800": 1}, b"x", object()):
            with self.assertRaises((TypeError, ValueError)):
                text.write(value)
            with self.assertRaises((TypeError, ValueError)):
                Failure("permanent", "x", value)
            with self.assertRaises((TypeError, ValueError)):
                Context().ask(value)
        self.assertEqual(text.write({Color.RED: Point(1, 2.5)}), '{"red":{"x":1,"y":2.5}}')
        self.assertEqual(Failure("permanent", "a\ud800b").message, "a\ufffdb")


def called(function: Any, params: Any = None, **activation: Any) -> Any:
    """A node that does this, called as a host calls it."""

    def run(params: Any, context: Context) -> Any:
        return function(params, context)

    action = action_of(node("A test.")(run))()
    return action.run(Activation(**activation), json.dumps(params))


class Calls(unittest.TestCase):
    def setUp(self) -> None:
        doubles = testing.host()
        self.host = doubles.__enter__()
        self.addCleanup(doubles.__exit__, None, None, None)

    def failing(self, function: Any) -> Any:
        with self.assertRaises(testing.Err) as raised:
            called(function)
        return raised.exception.value

    def test_a_description_holds_schemas_and_wants(self) -> None:
        @node("Counts.", wants={"wasi:filesystem/types": "reads"})
        def count(params: Point) -> int:
            return params.x

        described = action_of(count)().describe()
        self.assertEqual(described.summary, "Counts.")
        self.assertEqual(json.loads(described.params), schema_of(Point))
        self.assertEqual(json.loads(described.result), {"type": "integer"})
        self.assertEqual([(one.name, one.why) for one in described.interfaces], [("wasi:filesystem/types", "reads")])
        self.assertEqual(count(Point(3)), 3)

    def test_a_node_needs_types(self) -> None:
        with self.assertRaisesRegex(TypeError, "`return` has none"):

            @node("x")
            def untyped(params: Point):  # type: ignore[no-untyped-def]
                return 1

        with self.assertRaisesRegex(TypeError, "takes its params"):

            @node("x")
            def none() -> int:
                return 1

        with self.assertRaisesRegex(TypeError, "no `action`"):
            action_of(None)

    def test_commands_are_no_results(self) -> None:
        @node("x")
        def either(params: Point) -> Union[int, Command]:
            return 1

        @node("x")
        def always(params: Point) -> Command:
            return Command()

        self.assertEqual((either.result, always.result), ({"type": "integer"}, {"type": "null"}))

    def test_a_result_a_command_a_question_and_its_answer(self) -> None:
        result = called(lambda params, _: {"a": params, "ü": 2**64 - 1}, [1])
        self.assertEqual(result.value, '{"a":[1],"ü":18446744073709551615}')
        command = called(lambda *_: Command().write("x", 1).goto("b").send("c", {"d": 2}).send("e", None)).value
        self.assertEqual(command.update, '{"x":1}')
        targets = [(target.node, target.argument) for target in command.goto]
        self.assertEqual(targets, [("b", None), ("c", '{"d":2}'), ("e", "null")])

        def asking(_: Any, context: Context) -> Any:
            try:
                return [context.ask("first"), context.ask({"second": True})]
            except Exception:
                return "a question is no exception"

        self.assertEqual(called(asking).value, '"first"')
        self.assertEqual(called(asking, answers=["1"]).value, '{"second":true}')
        self.assertEqual(called(asking, answers=["1", '"yes"']).value, '[1,"yes"]')
        self.assertEqual(called(lambda _, context: context.argument()).value, "null")
        self.assertEqual(called(lambda _, context: context.argument(), argument='{"i":3}').value, '{"i":3}')

    def test_failures_have_categories_and_what_else_is_raised_is_internal(self) -> None:
        for category in CATEGORIES:

            def fail(*_: Any, category: Any = category) -> Any:
                raise Failure(category, "why", {"n": 1})

            told = self.failing(fail)
            self.assertEqual((told.category.name, told.message), (category.replace("-", "_").upper(), "why"))
            self.assertEqual(told.details, '{"n":1}')
        told = self.failing(lambda *_: 1 // 0)
        self.assertEqual((told.category.name, told.details), ("INTERNAL", None))
        self.assertTrue(told.message.startswith("ZeroDivisionError: "))
        for value in (float("nan"), float("inf"), {1, 2}, b"x"):
            self.assertEqual(self.failing(lambda *_, value=value: value).category.name, "INTERNAL")
        with self.assertRaisesRegex(ValueError, "is no category"):
            Failure("fatal", "x")  # type: ignore[arg-type]

    def test_log_lines_and_events(self) -> None:
        log("warn", "careful")
        emit("progress", {"at": 1})
        self.assertEqual((self.host.lines, self.host.records), ([("warn", "careful")], [("progress", {"at": 1})]))

    def test_the_clock_is_virtual_and_random_numbers_are_of_the_run(self) -> None:
        self.host.clock = 1_700_000_000.25
        before = clocks.now()
        self.assertEqual(before.timestamp(), 1_700_000_000.25)
        clocks.sleep(0.75)
        self.assertEqual((clocks.now() - before).total_seconds(), 0.75)
        self.assertEqual(len(randomness.random_bytes(16)), 16)
        self.assertTrue(0 <= randomness.generator().random() < 1)

    def test_files(self) -> None:
        self.host.folders = ("/data", "/data/inner")
        self.host.files["/data/a/other"] = b""
        files.write("/data/a/b.txt", "häuser")
        self.assertEqual(files.read_text("/data/a/b.txt"), "häuser")
        large = bytes(at % 251 for at in range(600_000))
        files.write("/data/large", large)
        self.assertEqual(files.read("/data/large"), large)
        self.assertEqual(files.list_folder("/data"), [files.Entry("a", "folder"), files.Entry("inner", "folder"), files.Entry("large", "file")])
        self.assertEqual(files.stat("/data/large"), files.Stat("file", 600_000))
        files.write("/data/inner/c", b"\xff")
        for path, category, message in [
            ("/data/none", "invalid-input", "/data/none: No such file or directory, similar to `ENOENT` in POSIX."),
            ("/data/a", "invalid-input", "/data/a: Is a directory, similar to `EISDIR` in POSIX."),
            ("/other/x", "denied", "/other/x: lies in no granted folder (granted: /data, /data/inner)"),
            ("/data/inner/c", "permanent", "/data/inner/c: is not UTF-8 text"),
        ]:
            with self.assertRaises(Failure) as raised:
                files.read_text(path)
            self.assertEqual((raised.exception.category, raised.exception.message), (category, message))
        files.remove("/data/large")
        self.assertNotIn("/data/large", self.host.files)
        files.create_folder("/data/new")
        self.assertEqual((files.stat("/data/new"), files.list_folder("/data/new")), (files.Stat("folder", 0), []))
        self.assertIn(files.Entry("new", "folder"), files.list_folder("/data"))
        self.assertEqual(self.host.folders, ("/data", "/data/inner"), "what is created is granted by no more than its folder")
        files.write("/data/new/x", "")
        files.remove("/data/new/x")
        self.assertEqual(files.stat("/data/new").kind, "folder", "a folder stays when it is emptied")
        for call, message in [
            (lambda: files.create_folder("/data/new"), "/data/new: File exists, similar to `EEXIST` in POSIX."),
            (lambda: files.remove("/data/new"), "/data/new: Is a directory, similar to `EISDIR` in POSIX."),
            (lambda: files.create_folder("/data/no/ne"), "/data/no/ne: No such file or directory, similar to `ENOENT` in POSIX."),
            (lambda: files.write("/data/no/ne", ""), "/data/no/ne: No such file or directory, similar to `ENOENT` in POSIX."),
            (lambda: files.list_folder("/data/no"), "/data/no: No such file or directory, similar to `ENOENT` in POSIX."),
        ]:
            with self.assertRaises(Failure) as raised:
                call()
            self.assertEqual(raised.exception.message, message)

    def test_knowledge_secrets_and_tools(self) -> None:
        knowledge.put("notes/one", "a green note")
        self.assertEqual((knowledge.get("notes/one"), knowledge.get("notes/two")), ("a green note", None))
        self.assertEqual(knowledge.list_keys("notes/"), ["notes/one"])
        self.assertEqual(knowledge.search("notes/", "green"), [knowledge.Hit("notes/one", "a green note")])
        self.host.secrets["TOKEN"] = "handle"
        self.assertEqual((secrets.handle("TOKEN"), secrets.names()), ("handle", ["TOKEN"]))
        with self.assertRaisesRegex(Failure, "no secret `OTHER` is granted"):
            secrets.handle("OTHER")
        self.host.items["me/double"] = lambda params: params * 2
        self.assertEqual(tools.call("me/double", 21), 42)

        def fails(_: Any) -> Any:
            raise Failure("rate-limited", "later", [1])

        self.host.items["me/fails"] = fails
        with self.assertRaises(Failure) as raised:
            tools.call("me/fails", None)
        self.assertEqual((raised.exception.category, raised.exception.details), ("rate-limited", [1]))

    def test_requests(self) -> None:
        sent: list[testing.Request] = []

        def serve(request: testing.Request) -> Any:
            sent.append(request)
            return 201, [("Content-Type", b"text/plain")], "gut ü".encode()

        self.host.serve = serve
        answer = http.request(
            "https://a.example/b?c=d#e", method="POST", fields={"x-one": "1"}, body="x" * 10_000
        )
        self.assertEqual((answer.status, answer.text(), answer.field("content-type")), (201, "gut ü", "text/plain"))
        self.assertEqual((sent[0].method, sent[0].url), ("POST", "https://a.example/b?c=d"))
        self.assertEqual((sent[0].fields, len(sent[0].body)), ([("x-one", b"1")], 10_000))
        http.request("https://a.example", fields=[("a", "1"), ("a", b"\xff")])
        self.assertEqual(sent[1].fields, [("a", b"1"), ("a", b"\xff")])

        def slow(_: testing.Request) -> Any:
            raise Failure("timeout", "the server did not answer in time")

        self.host.serve = slow
        with self.assertRaisesRegex(Failure, "did not answer") as raised:
            http.get("https://a.example")
        self.assertEqual(raised.exception.category, "timeout")
        self.host.serve = None
        for url, category, message in [
            ("a.example", "invalid-input", "a.example: a URL begins with https://"),
            ("ftp://a.example", "invalid-input", "ftp://a.example: a URL begins with https:// or http://"),
            ("https://a.example", "denied", "https://a.example: the request is not granted"),
        ]:
            with self.assertRaises(Failure) as raised:
                http.get(url)
            self.assertEqual((raised.exception.category, raised.exception.message), (category, message))


class Loading(unittest.TestCase):
    def test_time_and_random_numbers_cannot_be_read_while_modules_are_loaded(self) -> None:
        kept = [dict(vars(module)) for module in (time, random, datetime, os)]
        own = (random.Random.__init__, random.Random.seed.__defaults__, loading._random)
        try:
            loading.begin()
            import asyncio  # noqa: F401 - which reads the clock of `logging`

            self.assertTrue(issubclass(datetime.datetime, datetime.date))
            self.assertIsInstance(datetime.datetime(2020, 1, 1), datetime.date)
            self.assertIsInstance(datetime.datetime.min.date(), datetime.date)
            self.assertNotIsInstance(datetime.date(2020, 1, 1), datetime.datetime)
            for read in (lambda: time.strftime("%Y"), time.ctime, time.perf_counter, lambda: time.localtime(None)):
                with self.assertRaisesRegex(RuntimeError, "while a module is loaded"):
                    read()
            for read in (time.time, lambda: datetime.datetime.now(), lambda: datetime.date.today(), random.random, uuid.uuid4, python_secrets.token_hex, random.Random):
                with self.assertRaisesRegex(RuntimeError, "while a module is loaded"):
                    read()
            self.assertEqual(time.gmtime(0).tm_year, 1970)
            loading.end(["wasi:random/random"])
            loading.started()
            self.assertGreater(time.time(), 0)
            self.assertGreater(datetime.datetime.now().year, 2000)
            self.assertEqual((random.choice([1]), len(python_secrets.token_hex(4))), (1, 8))
            random.seed(5)
            drawn = random.random()
            random.seed(5)
            self.assertEqual((random.random(), drawn), (drawn, random.Random(5).random()))
            random.seed()
            self.assertNotEqual(random.random(), drawn)
            loading.begin()
            loading.end(["wasi:filesystem/types"])
            loading.started()
            for read in (lambda: random.choice([1]), lambda: random.normalvariate(0, 1), uuid.uuid4, python_secrets.token_hex):
                with self.assertRaisesRegex(RuntimeError, "needs `wasi:random/random` in `wants`"):
                    read()
            # As componentize-py does when a call begins.
            random.seed()
            self.assertTrue(0 <= random.Random(1).random() < 1)
        finally:
            loading.started()
            for module, before in zip((time, random, datetime, os), kept):
                vars(module).update(before)
            random.Random.__init__, random.Random.seed.__defaults__, loading._random = own  # type: ignore[method-assign]


if __name__ == "__main__":
    unittest.main()
