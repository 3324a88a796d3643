"""Modes: prompts laid over a scope for a while; a mode changes what a model is told, never what it can reach."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from quorra.agent.calling.tool import Reach
from quorra.agent.scopes import GENERAL
from quorra.agent.tools import review
from quorra.agent.tools.told import given, quoted
from quorra.errors import QuorraError

_FOLDERS, _DAYS = 12, 14


class UnknownMode(QuorraError):
    """The session's scope has no such mode."""

    code = "unknown_mode"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"This session has no mode {name!r}.", f"It has: {', '.join(known) or 'none'}.")


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode of one scope; its prompt is ``prompts/modes/SCOPE/NAME.md``.

    ``entry`` gives what the first turn in it should know, such as what waits today.
    """

    name: str
    scope: str
    description: str
    entry: Callable[[Reach], str] | None = None


def folders(reach: Reach) -> str:
    """Tells which folders there are to look through, the fullest first."""
    there = Counter(path.rpartition("/")[0] or "the top" for path in given.seen(reach))
    if not there:
        return "There are no notes to look through yet."
    named = ", ".join(f"{quoted.inline(name, 80)} ({count})" for name, count in there.most_common(_FOLDERS))
    rest = f", and {len(there) - _FOLDERS} more" if len(there) > _FOLDERS else ""
    return f"Folders to look through, with how many files lie in each: {named}{rest}."


def calendar(reach: Reach) -> str:
    """Tells today's date, the days ahead and how much waits for a yes."""
    today = reach.now.date()
    days = [today + timedelta(days=ahead) for ahead in range(1, _DAYS + 1)]
    ahead = ", ".join(f"{day:%a} {day.day} {day:%b}" for day in days)
    waits = len(review.waiting(reach))
    told = f" {waits} {'proposal waits' if waits == 1 else 'proposals wait'} in the inbox." if waits else ""
    return f"Today is {today:%A}, {today.day} {today:%B} {today.year}. The days ahead: {ahead}.{told}"


MODES = (
    Mode("research", GENERAL, "Follow a question through the notes, step by step, and say what they lack.", folders),
    Mode("household-planning", GENERAL, "Plan a trip, an event or a project with lists and dates.", calendar),
)


class Modes:
    """Modes by scope and name."""

    def __init__(self, modes: Iterable[Mode] = MODES) -> None:
        self._modes = {(mode.scope, mode.name): mode for mode in modes}

    def for_scope(self, scope: Iterable[str]) -> tuple[Mode, ...]:
        """Gives the modes that a session of this scope may have."""
        kept = frozenset(scope)
        return tuple(mode for mode in self._modes.values() if mode.scope in kept)

    def validate(self, name: str, scope: Iterable[str]) -> Mode:
        """Gives a mode by name; raises UnknownMode where the scope has none of that name."""
        there = self.for_scope(scope)
        for mode in there:
            if mode.name == name:
                return mode
        raise UnknownMode(name, (mode.name for mode in there))
