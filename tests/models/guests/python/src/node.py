"""The conversation of `../guest`, in Python."""

from dataclasses import dataclass, field
from typing import Any, Optional

from graph_host_sdk import Failure, model, node
from graph_host_sdk.model import Message, Request
from graph_host_sdk.schema import from_json


@dataclass
class Turn:
    name: str
    user: list[Any]
    request: dict[str, Any] = field(default_factory=dict)


@dataclass
class Params:
    op: str
    model: str
    system: Optional[str] = None
    tools: list[Any] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)


@node("Asks language models.", wants={"graph-host:host/model": "asks them"})
def action(params: Params) -> Any:
    if params.op == "left":
        return {"models": model.models(), "left": model.remaining()}
    history: list[Message] = []
    transcript: list[Any] = []
    for turn in params.turns:
        history.append(from_json(Message, {"role": "user", "blocks": turn.user}))
        asked = {"model": params.model, "system": params.system, "tools": params.tools, "messages": [], **turn.request}
        request = from_json(Request, asked)
        request.messages = history
        try:
            answer = model.complete(request)
        except Failure as failure:
            history.pop()
            told = {"category": failure.category, "message": failure.message, "details": failure.details}
            transcript.append({"turn": turn.name, "failed": told})
            continue
        blocks = [block for block in answer.message.blocks if "reasoning" not in block]
        transcript.append({"turn": turn.name, "blocks": blocks, "stop": answer.stop, "usage": answer.usage})
        history.append(answer.message)
    return {"transcript": transcript}
