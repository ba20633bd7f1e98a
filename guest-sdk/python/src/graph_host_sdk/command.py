"""Direct writes and routing."""

from __future__ import annotations

from typing import Any


class Command:
    """Direct writes and routing, within what the graph's node entry allows."""

    def __init__(self) -> None:
        self._update: dict[str, Any] = {}
        self._goto: list[tuple[str, tuple[Any, ...]]] = []

    def write(self, channel: str, value: Any) -> Command:
        """Writes a value to a channel."""
        self._update[channel] = value
        return self

    def goto(self, node: str) -> Command:
        """Goes to a node."""
        self._goto.append((node, ()))
        return self

    def send(self, node: str, argument: Any) -> Command:
        """Makes a task of its own for a node, with an argument."""
        self._goto.append((node, (argument,)))
        return self

    @property
    def update(self) -> dict[str, Any]:
        """What is written, by channel."""
        return dict(self._update)

    @property
    def targets(self) -> list[tuple[str, tuple[Any, ...]]]:
        """The nodes to go to, each with its argument if it is a send."""
        return list(self._goto)
