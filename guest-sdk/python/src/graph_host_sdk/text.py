"""JSON text as the host reads and writes it: integers stay exact, and no number is infinite."""

from __future__ import annotations

import json
from typing import Any


def parse(text: str) -> Any:
    """The value of a JSON text."""
    return json.loads(text)


def write(value: Any) -> str:
    """A value as JSON text.

    Raises `ValueError` for numbers that are not finite and for values that contain themselves, `TypeError` for what JSON does not have.
    """
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
