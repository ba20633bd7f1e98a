"""The graphs of `loop.yaml` and `fan-out.yaml`, as LangGraph has them."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send


class LoopState(TypedDict):
    n: Annotated[int, operator.add]
    last: str


def loop(steps: int, text: str) -> StateGraph[Any, Any, Any, Any]:
    """A node that is entered again until it has run `steps` times."""

    def echo(state: LoopState) -> dict[str, Any]:
        return {"n": 1, "last": text}

    def following(state: LoopState) -> str:
        return "echo" if state["n"] < steps else END

    graph = StateGraph(LoopState)
    graph.add_node("echo", echo)
    graph.add_edge(START, "echo")
    graph.add_conditional_edges("echo", following, ["echo", END])
    return graph


class FanOutState(TypedDict):
    items: list[int]
    results: Annotated[list[int], operator.add]


class Item(TypedDict):
    item: int


def fan_out() -> StateGraph[Any, Any, Any, Any]:
    """One task for each item, side by side; their results become a list."""

    def each(state: FanOutState) -> list[Send]:
        return [Send("echo", {"item": item}) for item in state["items"]]

    def echo(state: Item) -> dict[str, Any]:
        return {"results": [state["item"]]}

    graph = StateGraph(FanOutState)
    graph.add_node("echo", echo)
    graph.add_conditional_edges(START, each, ["echo"])
    graph.add_edge("echo", END)
    return graph


def inputs_of(kind: str, size: int) -> dict[str, Any]:
    """What a graph begins with."""
    return {"n": 0, "last": ""} if kind == "loop" else {"items": list(range(size)), "results": []}


def output_of(kind: str, state: dict[str, Any]) -> int:
    """What a graph of either kind comes to: as many supersteps, or items, as it was asked for."""
    return int(state["n"]) if kind == "loop" else len(state["results"])
