"""Random numbers of the run, the same in a replay. Needs `wasi:random/random` in `wants`."""

from __future__ import annotations

import random

from .bindings import imported


def random_bytes(count: int) -> bytes:
    """So many random bytes."""
    if count < 0:
        raise ValueError(f"{count} random bytes cannot be drawn")
    return bytes(imported("random").get_random_bytes(count))


def generator() -> random.Random:
    """A generator of random numbers that begins with random bytes of the run."""
    return random.Random(int.from_bytes(random_bytes(32), "big"))
