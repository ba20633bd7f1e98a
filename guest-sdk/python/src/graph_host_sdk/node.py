"""Makes a node of a function."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from .command import Command
from .context import Context
from .failure import Failure
from .schema import from_json, schema_of, to_json


class Node:
    """A node: a function with what a graph has to know of it. Calling it calls the function."""

    def __init__(self, function: Callable[..., Any], summary: str, wants: Mapping[str, str]) -> None:
        self.function = function
        self.summary = summary
        self.wants = dict(wants)
        self.__doc__ = function.__doc__
        hints = typing.get_type_hints(function, include_extras=True)
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__name__} is asynchronous: a node answers before its call ends")
        parameters = list(inspect.signature(function).parameters)
        if not parameters or len(parameters) > 2:
            raise TypeError(f"{function.__name__} takes its params and, if it looks at it, a Context")
        for name in (parameters[0], "return"):
            if name not in hints:
                raise TypeError(f"{function.__name__}: the schemas follow from types, and `{name}` has none")
        self._takes_context = len(parameters) == 2
        self._params = hints[parameters[0]]
        #: JSON Schema (2020-12) of the params.
        self.params: dict[str, Any] = schema_of(self._params)
        #: JSON Schema (2020-12) of the result.
        self.result: dict[str, Any] = schema_of(_result_of(hints["return"]))

    def __call__(self, params: Any, context: Context | None = None) -> Any:
        return self.function(params, context or Context()) if self._takes_context else self.function(params)

    def perform(self, params: Any, context: Context) -> Any:
        """Performs a task with params as JSON has them. Gives a result as JSON has it, or a `Command`."""
        try:
            given = from_json(self._params, params)
        except ValueError as error:
            raise Failure("invalid-input", str(error)) from None
        result = self(given, context)
        return result if isinstance(result, Command) else to_json(result)


def node(summary: str, *, wants: Mapping[str, str] | None = None) -> Callable[[Callable[..., Any]], Node]:
    """Makes a node of a function. It takes its params and, if it looks at it, a `Context`; it returns the result or a `Command`.

    `summary` says what the node does, in one sentence. `wants` has the interfaces that it uses, each with why, such as
    `{"wasi:filesystem/types": "reads the files that it counts"}`; `log` and `emit` are always granted. What is used and not named there is
    taken out of the component. Every call begins with the same memory: nothing is kept from call to call.
    """
    return lambda function: Node(function, summary, wants or {})


def _result_of(hint: Any) -> Any:
    """What a function returns beside commands."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    alternatives = typing.get_args(hint) if is_union else (hint,)
    options = [option for option in alternatives if option is not Command]
    if len(options) == len(alternatives):
        return hint
    return typing.Union[tuple(options)] if options else None
