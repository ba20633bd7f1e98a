"""Texts by key that outlast a run, in the scopes that the manifest names. Needs `graph-host:host/knowledge` in `wants`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .bindings import imported, translated
from .failure import Category, Failure
from .text import checked

_CATEGORIES: dict[str, Category] = {
    "Denied": "denied",
    "Invalid": "invalid-input",
    "Full": "limit",
    "Unavailable": "transient",
}


@dataclass(frozen=True)
class Hit:
    """An entry that a search found."""

    key: str
    """Its key."""
    excerpt: str
    """The part of its text that fits best, at most 500 bytes, on one line."""


def get(key: str) -> str | None:
    """The text of a key; None if there is no such entry."""
    return _asked(lambda module: module.get(checked(key)))


def put(key: str, text: str) -> None:
    """Writes the text of a key, in place of what it held. It stays, whatever comes of the task."""
    _asked(lambda module: module.put(checked(key), checked(text)))


def search(prefix: str, query: str, limit: int = 100) -> list[Hit]:
    """The entries below a prefix that hold all words of a query, best first; at most 100."""
    return [Hit(hit.key, hit.excerpt) for hit in _asked(lambda module: module.search(checked(prefix), checked(query), limit))]


def list_keys(prefix: str, after: str | None = None, limit: int = 1000) -> list[str]:
    """The keys that begin with a prefix, from the one behind `after` on; at most 1000."""
    return _asked(lambda module: module.list(checked(prefix), after and checked(after), limit))


def _asked(call: Callable[[Any], Any]) -> Any:
    return translated(lambda: call(imported("knowledge")), _failed)


def _failed(error: Any) -> Failure | None:
    category = _CATEGORIES.get(type(error).__name__.rsplit("_", 1)[-1])
    return category and Failure(category, error.value)
