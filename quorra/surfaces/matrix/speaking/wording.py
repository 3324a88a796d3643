"""What the bot posts: a reply as messages of a size that people read, and what it asks for."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from quorra.surfaces.matrix.hearing import words
from quorra.surfaces.matrix.hearing.rules import REFUSAL, Asked
from quorra.surfaces.matrix.service import Got

MOST = 6000
"""Characters of one message; an encrypted event of the size that servers take holds several times that."""
_ASKING = "Reply to this message with yes or no, or react to it with 👍 or 👎."


def replied(text: str, to: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Gives the messages that answer an event, the first as a reply to it, all in its thread."""
    return tuple(_message(part, to, first=not at) for at, part in enumerate(words.parts(text, MOST)))


def notice(text: str) -> Mapping[str, Any]:
    """Gives a message by itself; it is marked as a bot's and calls nobody."""
    return {"msgtype": "m.notice", "body": text, "m.mentions": {}}


def told(body: Mapping[str, Any]) -> str:
    """Writes out a reply of the service: the answer, what it rests on, what was done, and what it asks."""
    answer = str(body.get("answer") or "").strip()
    pending = body.get("pending_confirmation")
    pieces = [answer or ("" if pending else "I have nothing to say to that.")]
    if body.get("interrupted"):
        pieces.append("(This answer was cut short.)")
    pieces.append("\n".join(map(_source, body.get("citations") or ())))
    pieces.append("\n".join(map(str, body.get("notices") or ())))
    if pending:
        pieces.append(_question(pending, answer))
    return "\n\n".join(piece for piece in pieces if piece)


def failed(got: Got) -> str:
    """Says why the service did not do what it was asked."""
    if got.status == 401:
        return "The service does not let me in, or does not know you. Please tell its owner."
    if got.status == 403:
        return REFUSAL
    return got.sentence or "That did not work, and the fault is not yours."


def asked(body: Mapping[str, Any], person: str, session: str) -> Asked | None:
    """Gives what a reply asks for."""
    pending = body.get("pending_confirmation")
    if not isinstance(pending, Mapping):
        return None
    return Asked(str(pending["id"]), person, session, str(pending["digest"]), str(pending.get("expires", "")))


def _question(pending: Mapping[str, Any], answer: str) -> str:
    shown = [str(pending.get(key) or "").strip() for key in ("title", "description")]
    lines = [line for line in shown if line and line not in answer]
    until = _moment(str(pending.get("expires", "")))
    return "\n".join([*lines, f"Confirmation {pending['id']}{until}. {_ASKING}"])


def _moment(text: str) -> str:
    return f", open until {datetime.fromisoformat(text):%Y-%m-%d %H:%M %Z}".rstrip() if text else ""


def _source(citation: Mapping[str, Any]) -> str:
    lines: Sequence[int] = citation.get("lines") or ()
    where = "–".join(map(str, dict.fromkeys(lines)))
    return f"[{citation.get('n')}] {citation.get('path')}{f':{where}' if where else ''}"


def _message(text: str, to: Mapping[str, Any], first: bool) -> Mapping[str, Any]:
    relation = to.get("content", {}).get("m.relates_to")
    threaded = isinstance(relation, Mapping) and relation.get("rel_type") == "m.thread"
    about: dict[str, Any] = {"m.in_reply_to": {"event_id": to["event_id"]}} if first or threaded else {}
    if isinstance(relation, Mapping) and threaded:
        about |= {"rel_type": "m.thread", "event_id": relation.get("event_id"), "is_falling_back": not first}
    return {**notice(text), **({"m.relates_to": about} if about else {})}
