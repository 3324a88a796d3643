"""A run read back from its entries: its reply if it has one, else how far it has come."""

from collections.abc import Mapping, Sequence
from typing import Any

from quorra.agent.asking.answer import Citation, Claim
from quorra.agent.calling.tool import Result
from quorra.agent.conversation.reply import Reply, pending
from quorra.index.found import Hit, Ranks
from quorra.inference.protocol import Call
from quorra.state.inbox import Item
from quorra.state.runs import Run
from quorra.state.sessions import Entry, Session
from quorra.vault.texts import Texts


def reply(session: Session, run: Run, entries: Sequence[Entry], waits: Item | None) -> Reply | None:
    """Gives the reply that a run came to, or what it waits for; None where it was cut short."""
    last = entries[-1]
    if run.state == "done":
        said = next(entry for entry in reversed(entries) if entry.kind == "assistant" and not entry.mark)
        return _reply(session, run, said)
    request = next((entry for entry in reversed(entries) if entry.kind == "approval_request"), None)
    if request is None:
        return None
    if waits is not None and run.state == "paused":
        return Reply("asked", request.text, (), run.backend, session.id, run.id, pending_confirmation=pending(waits))
    if last.kind == "approval_resolved" and last.data["state"] in ("cancelled", "expired"):
        notice = f"What was asked here is {last.data['state']}."
        return Reply("asked", request.text, (), run.backend, session.id, run.id, notices=(notice,))
    return None


def _reply(session: Session, run: Run, said: Entry) -> Reply:
    claims = said.data["claims"]
    bound = (Claim(one["start"], one["end"], tuple(one["citations"])) for one in claims or ())
    return Reply(
        said.data["outcome"],
        said.text,
        tuple(Citation(**{**each, "lines": tuple(each["lines"])}, quote="") for each in said.data["citations"]),
        said.data["model"],
        session.id,
        run.id,
        claims=None if claims is None else tuple(bound),
        notices=tuple(said.data["notices"]),
    )


def own(entries: Sequence[Entry]) -> list[Entry]:
    """Gives the entries that the model has to see again: the question, its calls and their answers."""
    return [entries[0], *(entry for entry in entries if entry.kind in ("tool_call", "tool_result"))]


def calls(entries: Sequence[Entry]) -> list[Call]:
    """Gives the calls of a run in their order."""
    return [
        Call(entry.call, entry.data["name"], entry.data["arguments"]) for entry in entries if entry.kind == "tool_call"
    ]


def answered(entries: Sequence[Entry]) -> list[tuple[Call, Result]]:
    """Gives the calls that have an answer, with it."""
    answers = {entry.call: entry for entry in entries if entry.kind == "tool_result"}
    return [
        (call, Result(answers[call.id].text, answers[call.id].data["ok"]))
        for call in calls(entries)
        if call.id in answers
    ]


def hits(entries: Sequence[Entry], texts: Texts) -> list[Hit]:
    """Gives the passages that a run had found before, as far as their texts can be had still."""
    found = []
    for place in (place for entry in entries if entry.kind == "tool_result" for place in entry.data.get("hits", ())):
        text = _text(place, texts)
        if text is not None:
            lines = (place["lines"][0], place["lines"][1])
            found.append(Hit(**{**place, "lines": lines}, text=text, score=0.0, ranks=Ranks(None, None)))
    return found


def _text(place: Mapping[str, Any], texts: Texts) -> str | None:
    """Reads the lines of a hit from the commit it stands in, or from disk if it stands there still."""
    raw = None
    if place["commit"]:
        raw = texts.ledger.at(place["commit"], texts.settings.inside(place["path"]))
    else:
        held = texts.held(place["path"])
        raw = held[1] if held and held[0] == place["blob"] else None
    if raw is None:
        return None
    first, last = place["lines"]
    return "\n".join(raw.decode("utf-8", "replace").splitlines()[first - 1 : last])


def behind(entries: Sequence[Entry], call: str) -> list[Call]:
    """Gives the calls that stand behind the one that was waited for, and have not been answered."""
    done = {entry.call for entry in entries if entry.kind == "tool_result"}
    every = calls(entries)
    at = next((n for n, each in enumerate(every) if each.id == call), len(every))
    return [each for each in every[at + 1 :] if each.id not in done]


def steps(entries: Sequence[Entry]) -> int:
    """Counts the steps that a run has taken."""
    return max((entry.data["step"] + 1 for entry in entries if entry.kind == "tool_call"), default=0)
