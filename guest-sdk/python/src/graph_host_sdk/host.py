"""Log lines and records of the event stream. Both are always granted."""

from __future__ import annotations

from typing import Any, Literal

from . import text
from .bindings import imported

Level = Literal["trace", "debug", "info", "warn", "error"]
"""How important a line is."""


def log(level: Level, message: str) -> None:
    """Writes a log line for the people who run the graph."""
    module = imported("log")
    module.log(module.Level[level.upper()], text.repaired(message))


def emit(name: str, payload: Any) -> None:
    """Adds a record to the run's event stream. `name`: letters, digits, `_`, `-`, `.` and `/`, at most 64 bytes."""
    imported("events").emit(text.checked(name), text.write(payload))
