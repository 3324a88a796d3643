"""Values as the JSON objects that every surface speaks."""

from dataclasses import asdict
from typing import Any

from quorra.agent.answer import Answer
from quorra.errors import QuorraError
from quorra.index.found import Found


def found(value: Found) -> dict[str, Any]:
    """Gives a search's fields."""
    body = asdict(value)
    if value.reason is None:
        body.pop("reason")
    return body


def answer(value: Answer) -> dict[str, Any]:
    """Gives an answer's fields."""
    return asdict(value)


def error(value: QuorraError) -> dict[str, Any]:
    """Gives an error's fields."""
    return {"error": {"code": value.code, "message": value.message, "next": value.next}}
