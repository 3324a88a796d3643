"""A home of two members, and what calls a tool in it as one of them."""

import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from quorra import home as homes
from quorra import settings
from quorra.access.window import Window
from quorra.agent.calling.tool import Draft, Reach, Result, Rooms
from quorra.agent.tools.families import EVERY
from quorra.home import Home
from quorra.ledger.change import Origin
from quorra.state import database
from quorra.state.sessions import Sessions
from tests.ledger.places import git

TOOLS = {tool.name: tool for tool in EVERY}
NOTES = {
    "household/boiler": "---\ntitle: The Boiler\n---\n# The Boiler\n\nThe pressure is 1.5 bar. See [[shed]].\n\n"
    "## Service\n\nEvery May by Kessler.\n",
    "household/shed": "# Shed\n\nThe key hangs left of the door, by the [boiler](boiler.md).\n",
    "members/tom/diary": "# Tom's diary\n\nThe xylophone is hidden in the attic. [[household/boiler]]\n",
    "members/mira/diary": "# Mira's diary\n\nThe present lies under the stairs.\n",
}
HERE = Origin("owner", "test", "")


class Desk:
    """Calls tools as somebody."""

    def __init__(self, home: Home, sessions: Sessions) -> None:
        self.home, self.sessions = home, sessions

    def reach(self, who: str, window: Window | None = None) -> Reach:
        now = datetime.now().astimezone()
        session = self.sessions.begin(who, "standard", now)
        self.sessions.commit_scope(session.id, ["general"])
        rooms = Rooms(
            self.home.library, self.home.changes, self.home.search, lambda: self.home.proposals, self.sessions
        )
        return Reach(rooms, who, window or self.home.window(who, None), "http", session.id, "run", now)

    def call(self, name: str, who: str = "owner", window: Window | None = None, **arguments: Any) -> Result:
        tool = TOOLS[name]
        return tool.run(self.reach(who, window), tool.take(arguments))

    def draft(self, name: str, who: str = "owner", window: Window | None = None, **arguments: Any) -> Draft | Result:
        tool = TOOLS[name]
        assert tool.draft
        return tool.draft(self.reach(who, window), tool.take(arguments))

    def text(self, path: str) -> str:
        return (self.home.settings.home / "vault" / f"{path}.md").read_text(encoding="utf-8")


@pytest.fixture
def write() -> Callable[..., None]:
    """Writes a note by hand, whatever it holds, and commits it."""

    def wrote(desk: Desk, path: str, text: str) -> None:
        done = desk.home.changes.write(path, text.encode(), HERE)
        assert done.outcome == "applied", done

    return wrote


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with its notes, made once."""
    root = tmp_path_factory.mktemp("furnished") / "home"
    homes.create(root, empty=True)
    git(root, "config", "user.name", "Mira")
    git(root, "config", "user.email", "mira@localhost")
    home = Home.open(settings.read(root))
    for path, text in NOTES.items():
        assert home.changes.write(path, text.encode(), HERE).outcome == "applied"
    home.index.catch_up()
    home.close()
    return root


@pytest.fixture
def desk(furnished: Path, tmp_path: Path) -> Iterator[Desk]:
    root = shutil.copytree(furnished, tmp_path / "home", symlinks=True)
    home = Home.open(settings.read(root))
    state = database.open(home.private / database.STATE)
    yield Desk(home, Sessions(state))
    state.close()
    home.close()
