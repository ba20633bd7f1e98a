"""Why a node failed."""

from __future__ import annotations

from typing import Any, Literal, get_args

from . import text

Category = Literal[
    "transient", "rate-limited", "timeout", "permanent", "invalid-input", "denied", "limit", "internal"
]
"""What kind of failure it is. The retry policy of a graph goes by it."""

CATEGORIES: tuple[Category, ...] = get_args(Category)
"""All categories."""


class Failure(Exception):
    """Why a node failed. Raise it; any other exception is a failure of category `internal`.

    `message` is for a person: one short paragraph of plain text. `details` is for a program: any JSON value.
    """

    def __init__(self, category: Category, message: str, details: Any = None) -> None:
        if category not in CATEGORIES:
            raise ValueError(f"`{category}` is no category of failures; they are: {', '.join(CATEGORIES)}")
        super().__init__(message)
        self.category = category
        self.message = text.repaired(message)
        self.details = details
        #: The details as JSON text, if there are any.
        self.written = None if details is None else text.write(details)
