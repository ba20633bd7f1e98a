"""The clock and random numbers of the language, as a graph has them.

Python starts once, while the component is built, and every call begins with that memory. A time or a random number that was read then would
be the same in every run: reading one while modules are loaded is an error. Later the time is that of the superstep, and the functions of
the module `random` are refused, since their numbers follow from the build.
"""

from __future__ import annotations

import datetime
import random
import time
from collections.abc import Callable
from typing import Any

_loading = False


def begin() -> None:
    """Begins the time in which the modules of a node are loaded."""
    global _loading
    _loading = True
    for module, names in ((time, ("time", "time_ns", "monotonic", "monotonic_ns", "localtime", "gmtime")),):
        for name in names:
            setattr(module, name, _later(f"time.{name}()", getattr(module, name)))
    for name in ("random", "randint", "randrange", "choice", "choices", "shuffle", "sample", "uniform", "getrandbits", "randbytes", "gauss"):
        setattr(random, name, _refused(name))
    datetime.datetime = _DateTime  # type: ignore[misc]
    datetime.date = _Date  # type: ignore[misc]


def started() -> None:
    """Ends it."""
    global _loading
    _loading = False


def _check(what: str) -> None:
    if _loading:
        raise RuntimeError(f"{what} while a module is loaded would be the same in every run: call it in the node's function")


def _later(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        if not arguments:
            _check(what)
        return function(*arguments)

    return call


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        _check(f"random.{name}()")
        raise RuntimeError(
            f"random.{name}() would give the same numbers in every run: use `randomness.generator()` of graph_host_sdk, and "
            "`wasi:random/random` in `wants`"
        )

    return refuse


class _DateTime(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        _check("datetime.now()")
        return super().now(tz)

    @classmethod
    def utcnow(cls) -> Any:
        _check("datetime.utcnow()")
        return super().utcnow()

    @classmethod
    def today(cls) -> Any:
        _check("datetime.today()")
        return super().today()


class _Date(datetime.date):
    @classmethod
    def today(cls) -> Any:
        _check("date.today()")
        return super().today()
