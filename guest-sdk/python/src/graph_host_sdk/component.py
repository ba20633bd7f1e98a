"""The exports of a component, around the node of a module."""

from __future__ import annotations

import traceback
from typing import Any

from . import text
from .bindings import imported
from .command import Command
from .context import Activation, Context, Question
from .failure import Failure
from .host import log
from .loading import end, started
from .node import Node


def action_of(node: Any) -> type:
    """The class that componentize-py exports as `graph-host:node/action`."""
    if not isinstance(node, Node):
        raise TypeError("the module has no `action` that `node` has made")

    end(node.wants)

    class Action:
        def describe(self) -> Any:
            started()
            types = imported("graph_host_node_types")
            wanted = [types.WantedInterface(name, why) for name, why in node.wants.items()]
            return types.Description(node.summary, text.write(node.params), text.write(node.result), wanted)

        def run(self, activation: Any, params: str) -> Any:
            started()
            return _run(node, activation, params)

    return Action


def _run(node: Node, activation: Any, params: str) -> Any:
    types = imported("graph_host_node_types")
    known = {name: getattr(activation, name) for name in Activation.__dataclass_fields__}
    try:
        result = node.perform(text.parse(params), Context(Activation(**known)))
        if not isinstance(result, Command):
            return types.Outcome_Result(text.write(result))
        targets = [types.Target(name, text.write(sent[0]) if sent else None) for name, sent in result.targets]
        return types.Outcome_Command(types.Command(text.write(result.update), targets))
    except Question as question:
        return types.Outcome_Interrupt(question.written)
    except Failure as failure:
        raise _error(types, failure) from None
    except Exception as raised:
        log("error", traceback.format_exc())
        why = f"{type(raised).__name__}: {raised}"
        if isinstance(raised, ModuleNotFoundError):
            why += " (a component has no files to import from: import it at the top of a module)"
        raise _error(types, Failure("internal", why)) from None


def _error(types: Any, failure: Failure) -> Exception:
    category = types.Category[failure.category.replace("-", "_").upper()]
    return types.Err(types.Failure(category, failure.message, failure.written))
