"""The interfaces of the host: the modules that componentize-py makes, or in tests those of `testing`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .failure import Failure


def imported(name: str) -> Any:
    """The module of an interface that the component imports."""
    return importlib.import_module(f"wit_world.imports.{name}")


def translated(call: Callable[[], Any], read: Callable[[Any], Failure | None]) -> Any:
    """What a call gives. An error of the host is raised as the failure that `read` makes of it, if it knows it."""
    try:
        return call()
    except Exception as raised:
        if type(raised).__name__ != "Err":
            raise
        failure = read(raised.value)  # type: ignore[attr-defined]
        if failure is None:
            raise
        raise failure from None
