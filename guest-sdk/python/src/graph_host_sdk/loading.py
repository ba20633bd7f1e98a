"""The clock and random numbers of the language, as a graph has them.

Python starts once, while the component is built, and every call begins with that memory. A time or a random number that was read then would
be the same in every run: reading one while modules are loaded is an error. Later the time is that of the superstep, and the module `random` has a
seed of the run, which is drawn when the first of its functions is called. A node that does not want random numbers has none.
"""

from __future__ import annotations

import datetime
import logging  # noqa: F401 - reads the time when it is loaded, which no one sees
import os
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

_loading = False
_random = True
_has_seed = False

_READS: dict[str, int | None] = {
    **dict.fromkeys(("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")),
    **dict.fromkeys(("process_time", "process_time_ns", "clock_gettime", "clock_gettime_ns")),
    **dict.fromkeys(("localtime", "gmtime", "ctime", "asctime"), 0),
    "strftime": 1,
}
"""Functions of `time`. The place of the parameter that has a time; they read a clock where it is left out, or always if there is none."""


def begin() -> None:
    """Begins the time in which the modules of a node are loaded."""
    global _loading
    _loading = True
    for name, at in _READS.items():
        if hasattr(time, name):
            setattr(time, name, _later(f"time.{name}()", getattr(time, name), at))
    for name in set(random.__all__) - {"Random", "SystemRandom", "seed", "setstate"}:
        setattr(random, name, _drawn(f"random.{name}()", getattr(random, name), _seed_once(os.urandom)))
    random.seed, random.setstate = _seed(random.seed), _seed(random.setstate)
    # `uuid` and `secrets` draw from these.
    os.urandom = random._urandom = _drawn("os.urandom()", os.urandom, lambda: None)  # type: ignore[attr-defined]
    random.Random.__init__ = _unseeded(random.Random.__init__)  # type: ignore[method-assign]
    datetime.datetime = _DateTime  # type: ignore[misc]
    datetime.date = _Date  # type: ignore[misc]


def end(wants: Iterable[str]) -> None:
    """Ends it, for a node that wants these interfaces. Without :func:`begin`, as in tests, nothing is changed."""
    global _random
    if not _loading:
        return
    _random = any(name == "random" or name.startswith("wasi:random/") for name in wants)
    # When a call begins, componentize-py sets a seed and passes none: it would be drawn from the numbers of the run, which are those
    # that the node asks for, as in every other language.
    random.Random.seed.__defaults__ = (0, 2)


def started() -> None:
    """A call has begun."""
    global _loading
    _loading = False


def _check(what: str) -> None:
    if _loading:
        raise RuntimeError(f"{what} while a module is loaded would be the same in every run: call it in the node's function")


def _later(what: str, function: Callable[..., Any], at: int | None) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        if at is None or len(arguments) <= at or arguments[at] is None:
            _check(what)
        return function(*arguments)

    return call


def _seed_once(source: Callable[[int], bytes]) -> Callable[[], None]:
    def seed() -> None:
        if not _has_seed:
            random.seed(int.from_bytes(source(32), "big"))

    return seed


def _seed(function: Callable[..., Any]) -> Callable[..., Any]:
    def seed(*arguments: Any) -> None:
        global _has_seed
        _has_seed = bool(arguments) and arguments[0] is not None
        if _has_seed:
            function(*arguments)

    return seed


def _drawn(what: str, function: Callable[..., Any], before: Callable[[], None]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        _check(what)
        if not _random:
            raise RuntimeError(f"{what} needs `wasi:random/random` in `wants`")
        before()
        return function(*arguments, **named)

    return call


def _unseeded(function: Callable[..., Any]) -> Callable[..., Any]:
    def initialize(self: random.Random, x: Any = None) -> None:
        if x is None and not isinstance(self, random.SystemRandom):
            _check("random.Random() without a seed")
        function(self, x)

    return initialize


class _Like(type):
    """Instances and subclasses are those of the class that is replaced."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _REPLACED[cls]) if cls in _REPLACED else super().__instancecheck__(value)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, _REPLACED[cls]) if cls in _REPLACED else super().__subclasscheck__(other)


class _DateTime(datetime.datetime, metaclass=_Like):
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


class _Date(datetime.date, metaclass=_Like):
    @classmethod
    def today(cls) -> Any:
        _check("date.today()")
        return super().today()


_REPLACED: dict[type, type] = {_DateTime: _DateTime.__base__, _Date: _Date.__base__}  # type: ignore[dict-item]
