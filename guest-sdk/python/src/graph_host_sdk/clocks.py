"""The clock of the run. Needs `wasi:clocks/wall-clock` in `wants`; `sleep` needs `wasi:clocks/monotonic-clock`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from .bindings import imported

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def now() -> datetime:
    """The recorded time of the superstep, the same at every call and in a replay."""
    read = imported("wall_clock").now()
    return _EPOCH + timedelta(seconds=read.seconds, microseconds=read.nanoseconds // 1000)


def sleep(seconds: float) -> None:
    """Lets so many seconds pass on the virtual clock. It returns at once."""
    if seconds < 0:
        raise ValueError(f"{seconds} seconds cannot pass")
    with imported("monotonic_clock").subscribe_duration(round(seconds * 1e9)) as passed:
        passed.block()
