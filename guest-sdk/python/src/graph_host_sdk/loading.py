"""The clock and random numbers of the language, as a graph has them.

Python starts once, while the component is built, and every call begins with that memory. A time or a random number that was read then would
be the same in every run: reading one while modules are loaded is an error. Later the time is that of the superstep, and the module `random` has a
seed of the run: componentize-py sets it when a call begins. A node that does not want random numbers has none.
"""

from __future__ import annotations

import datetime
import os
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

_loading = False
_random = True


def begin() -> None:
    """Begins the time in which the modules of a node are loaded."""
    global _loading
    _loading = True
    for name in ("time", "time_ns", "monotonic", "monotonic_ns", "localtime", "gmtime"):
        setattr(time, name, _later(f"time.{name}()", getattr(time, name)))
    for name in ("random", "randint", "randrange", "choice", "choices", "shuffle", "sample", "uniform", "getrandbits", "randbytes", "gauss"):
        setattr(random, name, _drawn(f"random.{name}()", getattr(random, name)))
    # `uuid` and `secrets` draw from these.
    os.urandom = random._urandom = _drawn("os.urandom()", os.urandom)  # type: ignore[attr-defined]
    random.Random.__init__ = _unseeded(random.Random.__init__)  # type: ignore[method-assign]
    datetime.datetime = _DateTime  # type: ignore[misc]
    datetime.date = _Date  # type: ignore[misc]


def end(wants: Iterable[str]) -> None:
    """Ends it, for a node that wants these interfaces. Without :func:`begin`, as in tests, nothing is changed."""
    global _random
    if not _loading:
        return
    _random = any(name == "random" or name.startswith("wasi:random/") for name in wants)
    if not _random:
        # The call that sets the seed passes none, and would ask the host for one.
        random.Random.seed.__defaults__ = (0, 2)


def started() -> None:
    """A call has begun."""
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


def _drawn(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        _check(what)
        if not _random:
            raise RuntimeError(f"{what} needs `wasi:random/random` in `wants`")
        return function(*arguments, **named)

    return call


def _unseeded(function: Callable[..., Any]) -> Callable[..., Any]:
    def initialize(generator: random.Random, seed: Any = None) -> None:
        if seed is None:
            _check("random.Random() without a seed")
        function(generator, seed)

    return initialize


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
