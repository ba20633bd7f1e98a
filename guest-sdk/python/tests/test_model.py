"""Unit tests of language models: python3 -m unittest discover -s tests"""

import sys
import unittest
from typing import Any

from graph_host_sdk import Failure, model, testing
from graph_host_sdk.model import Budget, Media, Message, Request, Response, Tool, ToolCall, ToolResult, Usage
from graph_host_sdk.schema import from_json, schema_of, to_json


def conversation() -> list[Message]:
    """Every kind of block."""
    search = {"q": 2**63}
    return [
        Message("user", [{"text": "Look"}, {"media": Media.of("image/png", b"\0\xff\x10\1")}]),
        Message(
            "assistant",
            [
                {"reasoning": {"api": "x", "item": [1]}},
                {"text": "I "},
                {"tool_call": ToolCall("a", "search", search)},
                {"text": "look"},
                {"tool_call": ToolCall("b", "search", search)},
            ],
        ),
        Message.results([ToolResult("a", "none"), ToolResult("b", "none", failed=True)]),
    ]


AS_JSON = [
    {"role": "user", "blocks": [{"text": "Look"}, {"media": {"media_type": "image/png", "data": "AP8QAQ=="}}]},
    {
        "role": "assistant",
        "blocks": [
            {"reasoning": {"api": "x", "item": [1]}},
            {"text": "I "},
            {"tool_call": {"id": "a", "name": "search", "arguments": {"q": 2**63}}},
            {"text": "look"},
            {"tool_call": {"id": "b", "name": "search", "arguments": {"q": 2**63}}},
        ],
    },
    {
        "role": "user",
        "blocks": [
            {"tool_result": {"id": "a", "content": "none", "failed": False}},
            {"tool_result": {"id": "b", "content": "none", "failed": True}},
        ],
    },
]


def request(*messages: Message, **more: Any) -> Request:
    return Request("fast", list(messages), **more)


class Models(unittest.TestCase):
    def test_messages_are_kept_as_json(self) -> None:
        self.assertEqual(to_json(conversation()), AS_JSON)
        self.assertEqual(from_json(list[Message], AS_JSON), conversation())
        without = from_json(Message, {"role": "user", "blocks": [{"tool_result": {"id": "a", "content": ""}}]})
        self.assertEqual(without.tool_results(), [ToolResult("a", "", False)])
        self.assertIn("Message", schema_of(list[Message])["$defs"])
        said, answered, results = conversation()
        self.assertEqual(answered.text(), "I look")
        self.assertEqual([call.id for call in answered.tool_calls()], ["a", "b"])
        self.assertEqual([result.failed for result in results.tool_results()], [False, True])
        self.assertEqual(said.blocks[1]["media"].content(), b"\0\xff\x10\1")  # type: ignore[typeddict-item]
        with self.assertRaisesRegex(Failure, "no Base64 text"):
            Media("image/png", "?").content()
        with self.assertRaisesRegex(ValueError, "`image` is no key"):
            from_json(Message, {"role": "user", "blocks": [{"image": ""}]})

    def test_a_request_reaches_the_host_unchanged(self) -> None:
        usage = Usage(input=7, output=5, cached=3, reasoning=2, cost=11)
        answer = Response(conversation()[1], "tool_calls", usage)
        asked = request(
            *conversation(),
            system="Be brief.",
            tools=[Tool("search", {"type": "object"}, "Searches.")],
            tool_choice={"named": "search"},
            output_schema={"type": "string"},
            max_output=9,
            temperature=0.5,
            stop=["END"],
        )
        with testing.host() as host:
            host.models = {"fast": [answer, Failure("timeout", "late", [1])], "good": []}
            host.model_budget = Budget(calls=2, input=10, output=3)
            self.assertEqual(model.complete(asked), answer)
            self.assertEqual(host.model_requests, [asked])
            self.assertEqual(from_json(Request, to_json(asked)), asked)
            self.assertEqual(model.models(), ["fast", "good"])
            self.assertEqual(model.remaining(), Budget(calls=1, input=3, output=0))
            with self.assertRaises(Failure) as late:
                model.complete(asked)
            self.assertEqual((late.exception.category, late.exception.message, late.exception.details), ("timeout", "late", [1]))
            with self.assertRaises(Failure) as none_left:
                model.complete(asked)
            self.assertEqual(none_left.exception.category, "limit")
            self.assertEqual(len(host.model_requests), 2)

    def test_answers_of_a_test(self) -> None:
        with testing.host() as host:
            host.models["fast"] = [Response.calling(("now", {}), ("sum", {"of": [1]})), Response.of("Hello", stop="max_output")]
            for choice in ("auto", "none", "required"):
                host.models["fast"].append(Response.of(choice))
            calls = model.complete(request(Message.user("x")))
            self.assertEqual(calls.message.tool_calls(), [ToolCall("call-1", "now", {}), ToolCall("call-2", "sum", {"of": [1]})])
            self.assertEqual((calls.stop, calls.usage), ("tool_calls", Usage()))
            said = model.complete(request(Message.user("x"), calls.message, Message.results([ToolResult("call-1", ""), ToolResult("call-2", "")])))
            self.assertEqual((said.message, said.stop), (Message.assistant("Hello"), "max_output"))
            for choice in ("auto", "none", "required"):
                answer = model.complete(request(Message.user("x"), tool_choice=choice))
                self.assertEqual((answer.message.text(), host.model_requests[-1].tool_choice), (choice, choice))

    def test_what_the_host_refuses_a_test_refuses(self) -> None:
        call, user = Response.calling(("search", {})).message, Message.user("x")

        def result(id: str) -> Message:
            return Message.results([ToolResult(id, "x")])

        def tool(name: str) -> Tool:
            return Tool(name, {})

        with testing.host() as host:
            host.models["fast"] = []
            for asked, told in [
                (request(), "the last message must be the user's"),
                (request(Message.assistant("x")), "the last message must be the user's"),
                (request(user, Message.results([])), "must not be empty"),
                (request(Message.user("")), "a text must not be empty"),
                (request(call, user), "must have one result"),
                (request(call, result("call-2")), "must have one result"),
                (request(user, result("call-1")), "must have one result"),
                (request(user, tools=[tool("a b")]), "tools: `a b`"),
                (request(user, tools=[tool("a"), tool("a")]), "used twice"),
                (request(user, tools=[Tool("a", [])]), "must be an object"),  # type: ignore[arg-type]
                (request(user, temperature=2.5), "temperature"),
                (request(user, temperature="hot"), "no number"),
                (request(user, stop=list("abcde")), "stop"),
                (request(Message("user", call.blocks)), "wrong role"),
                (request(user, max_output=-1), "no number of tokens"),
                (request(user, max_output=True), "no number of tokens"),
                (request(user, tool_choice="any"), "tool_choice"),
                (request(Message("system", [])), "is no role"),  # type: ignore[arg-type]
                (request(Message("user", [{"text": "x", "media": 1}])), "one key"),  # type: ignore[list-item,typeddict-item]
                (request(Message("user", [{}])), "one key"),  # type: ignore[list-item,typeddict-item]
            ]:
                with self.subTest(told=told), self.assertRaises(Failure) as raised:
                    model.complete(asked)
                self.assertEqual(raised.exception.category, "invalid-input")
                self.assertIn(told, raised.exception.message)
            with self.assertRaises(Failure) as denied:
                model.complete(Request("good", [user]))
            self.assertEqual(denied.exception.category, "denied")
            self.assertEqual(host.model_requests, [])
            with self.assertRaisesRegex(Failure, "no further answer"):
                model.complete(request(user))
            with self.assertRaises(TypeError):
                model.complete(request(Message("user", [{"text": 1}])))  # type: ignore[typeddict-item]
            with self.assertRaises(ValueError):
                model.complete(request(Message.user("\ud800")))

    def test_a_component_without_the_interface_says_what_it_needs(self) -> None:
        with testing.host():
            del sys.modules["wit_world.imports.model"]
            with self.assertRaisesRegex(RuntimeError, "needs `graph-host:host/model` in `wants`"):
                model.models()


if __name__ == "__main__":
    unittest.main()
