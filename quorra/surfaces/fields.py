"""Values as the JSON objects that every surface speaks."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from quorra.agent.answer import Answer
from quorra.errors import QuorraError
from quorra.index.found import Found

if TYPE_CHECKING:
    from quorra.evals.run import Run


def found(value: Found) -> dict[str, Any]:
    """Gives a search's fields."""
    body = asdict(value)
    if value.reason is None:
        body.pop("reason")
    return body


def answer(value: Answer) -> dict[str, Any]:
    """Gives an answer's fields."""
    return asdict(value)


def run(value: "Run") -> dict[str, Any]:
    """Gives a run's fields, those of answers only where they were asked for."""
    body = asdict(value)
    if value.answers is None:
        body.pop("answers")
        for case in body["cases"]:
            case.pop("answer")
    return body


def error(value: QuorraError) -> dict[str, Any]:
    """Gives an error's fields."""
    return {"error": {"code": value.code, "message": value.message, "next": value.next}}
