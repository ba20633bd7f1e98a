"""The interfaces of the host: the modules that componentize-py makes, or in tests those of `testing`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from .failure import Category, Failure


_NAMES = (
    "events",
    "graph_host_node_types",
    "knowledge",
    "log",
    "monotonic_clock",
    "outgoing_handler",
    "preopens",
    "random",
    "secrets",
    "tools",
    "wall_clock",
    "wasi_filesystem_types",
    "wasi_http_types",
)


def load() -> None:
    """Loads the modules of all interfaces, and those that Python loads when it first needs them: a component has no files to load from."""
    for name in _NAMES:
        imported(name)
    for name in ("_strptime", "encodings.ascii", "encodings.cp1252", "encodings.idna", "encodings.latin_1", "encodings.utf_16"):
        importlib.import_module(name)


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
        try:
            raise failure from None
        finally:
            # It holds this frame, and with it what the call had of the host, until the garbage collector looks for cycles.
            del failure


def known(codes: Mapping[str, tuple[Category, str]], name: str, about: str) -> Failure | None:
    """The failure that an error code of the host means, by a table of categories and texts; None if it is not in there."""
    meant = codes.get(name)
    return meant and Failure(meant[0], f"{about}: {meant[1]}")
