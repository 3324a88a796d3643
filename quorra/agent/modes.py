"""Modes: prompts laid over a scope for a while; a mode changes what a model is told, never what it can reach."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from quorra.agent.scopes import GENERAL
from quorra.agent.tools.tool import Reach
from quorra.errors import QuorraError


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


MODES = (
    Mode("research", GENERAL, "Follow a question through the notes, step by step, and say what they lack."),
    Mode("household-planning", GENERAL, "Plan a trip, an event or a project with lists and dates."),
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
