"""Write a node of a graph in Python: a function whose types give the schemas of its params and its result.

    @node("Greets someone.")
    def action(params: Params) -> str:
        return f"Hello, {params.name}!"
"""

from .command import Command
from .context import Activation, Context, Question
from .failure import CATEGORIES, Category, Failure
from .host import emit, log
from .node import Node, node

__all__ = ["CATEGORIES", "Activation", "Category", "Command", "Context", "Failure", "Node", "Question", "emit", "log", "node"]
