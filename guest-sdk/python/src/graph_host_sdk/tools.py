"""Calls of other items. Needs `graph-host:host/tools` in `wants`."""

from __future__ import annotations

from typing import Any

from . import text
from .bindings import imported, translated
from .failure import Category, Failure


def call(item: str, params: Any) -> Any:
    """Calls an item and gives its result. It uses this node's fuel and time. Its failure is raised as one of this node."""
    return text.parse(translated(lambda: imported("tools").call(text.checked(item), text.write(params)), _given))


def _given(failure: Any) -> Failure:
    category: Category = failure.category.name.lower().replace("_", "-")
    return Failure(category, failure.message, None if failure.details is None else text.parse(failure.details))
