"""Secrets that a node may send and never sees. Needs `graph-host:host/secrets` in `wants`."""

from __future__ import annotations

from .bindings import imported, translated
from .failure import Failure


def handle(name: str) -> str:
    """The handle of a granted secret.

    Write it into the one header that the secret is for, alone or behind other text, as in `f"Bearer {handle('ACME_TOKEN')}"`. The host
    puts the value in its place as the request leaves.
    """
    return translated(
        lambda: imported("secrets").handle(name), lambda _: Failure("denied", f"no secret `{name}` is granted")
    )


def names() -> list[str]:
    """The names of all secrets that are granted."""
    return imported("secrets").names()
