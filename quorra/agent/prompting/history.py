"""What a model is told of the conversation so far, and a run's own messages rebuilt from its entries."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from quorra.agent.tools.told import quoted
from quorra.inference.protocol import Call, Message
from quorra.state.sessions import Entry

APART = timedelta(hours=4)
"""How far two messages lie apart at most without a word about it."""
NOTE = 600
"""Characters of a note about one tool call."""
ROOM = 24_000
"""Characters of what was said before, where the model's context holds that many."""
_ARGUMENTS, _DATE, _LATELY = 160, 50, 20
INTERRUPTED = "[interrupted]"
CUT_SHORT = "It was cut short: it may or may not have been done. Look before doing it again."
_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_MARKER = re.compile(
    r"\[(?=\s*(?:note:|cut:|interrupted|waits\s+for|what\s+waited|next\s+day|\d+\s+(?:hour|day)s?\s+passed"
    rf"|(?:{_DAYS}),))",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"<(?=\|[^|<>\s]{1,40}\|>)")
_BRACKETS = str.maketrans("[]", "()")


@dataclass(slots=True)
class _Turn:
    """What a person said, what tools were called for it and what was replied."""

    seq: int
    at: datetime
    text: str
    gap: str | None
    notes: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    waited: str = ""

    def messages(self, first: bool, room: int) -> tuple[Message, Message]:
        """Gives the turn as two messages; the first of all carries the date."""
        reply = _cut("\n\n".join(self.replies), room // 3) or self.waited or INTERRUPTED
        return Message("user", self.asked(first, room)), Message("assistant", reply)

    def asked(self, first: bool, room: int) -> str:
        """Gives what was said, behind its marker and before the notes, of which the newest are kept."""
        notes = [_shorter(note, max(room // 8, _ARGUMENTS)) for note in self.notes[-1:]]
        for note in reversed(self.notes[:-1]):
            if sum(map(len, notes)) + len(note) > room // 8:
                notes.append(f"[note: {len(self.notes) - len(notes)} earlier tool calls]")
                break
            notes.append(note)
        marker = f"[{moment(self.at)}]" if first else self.gap
        return "\n\n".join(part for part in (marker, _cut(self.text, room // 2), "\n".join(reversed(notes))) if part)


def gap(before: datetime, after: datetime) -> str | None:
    """Gives the marker between two moments that lie more than four hours apart, each by its own clock."""
    if after - before <= APART:
        return None
    days = (after.date() - before.date()).days
    if days <= 0:
        return f"[{(after - before) // timedelta(hours=1)} hours passed]"
    return f"[{'next day' if days == 1 else f'{days} days passed'} — {moment(after)}]"


def moment(at: datetime) -> str:
    """Writes a moment out as its own clock shows it."""
    return f"{at:%A}, {at.day} {at:%B} {at.year}, {at:%H:%M}"


def messages(entries: Sequence[Entry], *, most: int = 8, room: int = ROOM) -> list[Message]:
    """Gives what was said lately, as user and assistant in turn: ``most`` messages, ``room`` characters.

    ``entries`` end before the run that is to come. Tools are told of in notes below the person's words.
    The window slides by steps, so that mostly a turn's messages begin with those of the turn before.
    """
    turns = _turns(entries)[-(most // 2) :]
    told = [turn.messages(False, room) for turn in turns]
    sizes = [sum(len(message.content) for message in pair) + _DATE for pair in told]
    fitting = [at for at in range(len(turns)) if sum(sizes[at:]) <= room]
    starts = fitting[: 2 if len(fitting) == most // 2 else 1]
    if not starts:
        return []
    start = max(starts, key=lambda at: _lasting(turns[at].seq))
    return [*turns[start].messages(True, room), *(message for pair in told[start + 1 :] for message in pair)]


def of_run(entries: Sequence[Entry], past: Sequence[Entry] = ()) -> list[Message]:
    """Rebuilds the messages of one run, as far as it has come; ``past`` is what stands before it.

    The calls of one step are one assistant message; a call without a result is said to be cut short.
    """
    turns = _turns([*past[-_LATELY:], entries[0]])
    asked = turns[-1].gap if len(turns) > 1 else f"[{moment(turns[-1].at)}]"
    rebuilt = [Message("user", "\n\n".join(part for part in (asked, turns[-1].text) if part))]
    results = {entry.call: entry.text for entry in entries if entry.kind == "tool_result"}
    steps: dict[int, list[Entry]] = {}
    for entry in entries:
        if entry.kind == "tool_call":
            steps.setdefault(entry.data["step"], []).append(entry)
    for made in steps.values():
        text = "".join(entry.text for entry in made)
        calls = tuple(Call(entry.call, entry.data["name"], entry.data["arguments"]) for entry in made)
        rebuilt.append(Message("assistant", text, calls=calls))
        rebuilt += [Message("tool", results.get(call.id, CUT_SHORT), answers=call.id) for call in calls]
    return rebuilt


def _turns(entries: Iterable[Entry]) -> list[_Turn]:
    """Gathers entries into turns; what a person answered to a question of Quorra's is none of its own."""
    turns: list[_Turn] = []
    calls: dict[tuple[str, str], tuple[_Turn, int, Entry]] = {}
    began: dict[str, _Turn] = {}
    last: datetime | None = None
    passed: str | None = None
    for entry in entries:
        if entry.kind in ("user", "assistant"):
            at = datetime.fromisoformat(entry.at)
            passed = (gap(last, at) if last else None) or passed
            last = at
        if entry.kind == "user" and not (entry.run and entry.run in began):
            turns.append(_Turn(entry.seq, at, _own(entry.text), passed))
            began[entry.run] = turns[-1]
            passed = None
        elif not turns:
            continue
        elif entry.kind == "assistant":
            turns[-1].replies.append(_own(entry.text) + (f" {INTERRUPTED}" if entry.mark else ""))
        elif entry.kind == "approval_request":
            began.get(entry.run, turns[-1]).waited = "[waits for the person's yes]"
        elif entry.kind == "approval_resolved":
            began.get(entry.run, turns[-1]).waited = f"[what waited for a yes is {entry.data['state']}]"
        elif entry.kind == "tool_call":
            calls[entry.run, entry.call] = turns[-1], len(turns[-1].notes), entry
            turns[-1].notes.append(_note(entry, "has no result: it waits for a yes, or was cut short"))
        elif entry.kind == "tool_result" and (entry.run, entry.call) in calls:
            turn, at_note, called = calls[entry.run, entry.call]
            turn.notes[at_note] = _note(called, f"{'gave' if entry.data['ok'] else 'failed'}: {entry.text}")
    return turns


def _note(call: Entry, became: str) -> str:
    """Tells in one line what came of a call; nothing in it can end the brackets around it."""
    told = f"{call.data['name']} {_flat(call.data['arguments'], _ARGUMENTS)} {became}"
    return f"[note: {_flat(told, NOTE - len('[note: ]'))}]"


def _flat(text: str, most: int) -> str:
    """Gives a text's beginning on one line without square brackets."""
    line = quoted.plain(text[: 4 * most]).translate(_BRACKETS)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _own(text: str) -> str:
    """Takes from a text's markers and control words what they would be read as."""
    return _CONTROL.sub(r"<\\", _MARKER.sub(r"\\[", text))


def _shorter(note: str, most: int) -> str:
    """Gives a note's beginning, its bracket closed."""
    return note if len(note) <= most else f"{note[: most - 2]}…]"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n[cut: {len(text) - most:,} more characters]"


def _lasting(seq: int) -> int:
    """Ranks numbers so that among any two neighbours of an even row the same is chosen for as long as can be.

    It is the greatest power of two in a number: in a row of equal steps every second one has more of it.
    """
    return seq & -seq if seq else 1 << 62
