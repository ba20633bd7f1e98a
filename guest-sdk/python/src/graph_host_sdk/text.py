"""JSON text as the host reads and writes it: integers stay exact, and no number is infinite."""

from __future__ import annotations

import json
from typing import Any

from .schema import to_json


def parse(text: str) -> Any:
    """The value of a JSON text."""
    return json.loads(text)


def write(value: Any) -> str:
    """A value as JSON text: dataclasses as objects, enums as their values.

    Raises `ValueError` for numbers that are not finite, for texts that are no Unicode and for values that contain themselves, `TypeError` for
    what JSON does not have.
    """
    return checked(json.dumps(to_json(value), allow_nan=False, ensure_ascii=False, separators=(",", ":")))


def checked(text: str) -> str:
    """A text that the host can take. Raises `TypeError` for what is no text, `ValueError` for half of a surrogate pair."""
    if not isinstance(text, str):
        raise TypeError(f"{type(text).__name__} where a text has to be")
    text.encode()
    return text


def repaired(message: object) -> str:
    """A message for people, with U+FFFD for each half of a surrogate pair."""
    return str(message).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
