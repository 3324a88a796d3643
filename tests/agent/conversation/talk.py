"""A home to talk in, and one person's side of a conversation."""

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from quorra import home as homes
from quorra import settings
from quorra.access.principals import AuthenticatedPrincipal, named
from quorra.agent.asking.answer import Event
from quorra.agent.conversation.reply import Reply, Said
from quorra.home import Home
from quorra.ledger.change import Origin

NOTES = {
    "household/boiler.md": "# Boiler\n\nThe boiler pressure should stay at 1.4 bar.\n",
    "household/bins.md": "# Bins\n\nThe paper bins go out on Thursday evening.\n",
    "members/mira/kite.md": "# Kite\n\nMira wants a kite with a long tail.\n",
    "members/tom/diary.md": "# Diary\n\nTom likes the violet umbrella best.\n",
}
MORNING = datetime(2026, 12, 1, 8, 10, tzinfo=UTC)
GENERAL = ("general",)


def made(root: Path, model: str = 'backend = "scripted"') -> Path:
    """Makes a home with notes in it whose model does what it is told."""
    homes.create(root, empty=True)
    table = (root / "quorra.toml").read_text(encoding="utf-8")
    (root / "quorra.toml").write_text(f"{table}\n[model]\n{model}\n", encoding="utf-8")
    home = opened(root)
    for path, text in NOTES.items():
        assert home.changes.write(path, text.encode(), Origin("owner", "test", "")).outcome == "applied"
    home.close()
    return root


def opened(root: Path) -> Home:
    """Opens a home as a process does that has just started."""
    return Home.open(settings.read(root))


def call(tool: str, **arguments: Any) -> str:
    """Writes the line by which the scripted model calls a tool."""
    return f"!call {tool} {json.dumps(arguments)}"


@dataclass
class Person:
    """Somebody who talks; their session and their clock go on from message to message."""

    home: Home
    name: str = "owner"
    now: datetime = MORNING
    session: str | None = None
    events: list[Event] = field(default_factory=list)

    @property
    def principal(self) -> AuthenticatedPrincipal:
        """Who they are."""
        return named(self.name)

    def say(self, text: str, *, scope: tuple[str, ...] | None = GENERAL, stop: int | None = None, **more: Any) -> Reply:
        """Says something; goes away after ``stop`` tokens."""
        self.now += timedelta(minutes=1)
        self.events = []
        said = Said(text, more.pop("session", self.session), scope, **more)
        if self.session or said.confirmation_id:
            said = replace(said, scope=None)
        reply = self.home.talks.say(
            said, self.principal, surface="test", now=self.now, emit=self.events.append,
            cancelled=lambda: stop is not None and len(self.told("token")) >= stop,
        )  # fmt: skip
        self.session = reply.session_id
        return reply

    def told(self, kind: str) -> list[str]:
        """Gives the texts of the events of one kind."""
        return [event.text for event in self.events if event.kind == kind]

    def entries(self, *kinds: str) -> list[Any]:
        """Gives the entries of their session."""
        assert self.session
        every = self.home.stores.sessions.entries(self.session)
        return [entry for entry in every if not kinds or entry.kind in kinds]

    def proposal(self, path: str = "household/bins.md", text: str = "# Bins\n\nThe bins go out on Friday.\n") -> str:
        """Puts a change into the inbox."""
        done = self.home.changes.write(path, text.encode(), Origin("owner", "test", ""), propose=True)
        assert done.proposal
        return done.proposal
