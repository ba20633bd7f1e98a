"""What a node is told beside its params."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import text


@dataclass(frozen=True)
class Activation:
    """The task that a node performs."""

    run_id: str = ""
    """The run."""
    root_run_id: str = ""
    """The run at the top of the tree of runs; the run itself if it has no parent."""
    parent_run_id: str | None = None
    """The run that started this one, if any."""
    graph_id: str = ""
    """The graph's id."""
    node_id: str = ""
    """The node's name in the graph."""
    superstep: int = 1
    """The superstep, counted from 1."""
    task: str = "1.0"
    """The task's id: `namespace/step.ordinal`."""
    attempt: int = 1
    """The attempt at this task, counted from 1."""
    visit: int = 1
    """How often this node has been entered in this run, counted from 1."""
    argument: str | None = None
    """The argument of the send, or the item of the `foreach`, that made this task, as JSON text."""
    answers: list[str] = field(default_factory=list)
    """The answers to this task's questions so far, as JSON texts."""
    idempotency_key: str = ""
    """The same for every attempt at one task, and for no other task."""


class Question(BaseException):
    """A question that is not answered yet. It ends the call, and no `except Exception` of a node stops it."""

    def __init__(self, value: Any) -> None:
        super().__init__("the question is not answered yet")
        self.value = value
        #: The question as JSON text.
        self.written = text.write(value)


class Context:
    """What a node is told beside its params. A test makes one by itself."""

    def __init__(self, activation: Activation | None = None) -> None:
        self.activation = activation or Activation()
        self._asked = 0

    def argument(self) -> Any:
        """The argument of the send, or the item of the `foreach`, that made this task; None without one."""
        argument = self.activation.argument
        return None if argument is None else text.parse(argument)

    def ask(self, question: Any) -> Any:
        """Asks a person and gives the answer.

        The first time the call ends here, the task is suspended, and the function runs again from its top when the answer is there:
        whatever comes before must do the same again.
        """
        asked, self._asked = self._asked, self._asked + 1
        if asked >= len(self.activation.answers):
            raise Question(question)
        return text.parse(self.activation.answers[asked])
