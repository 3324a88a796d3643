"""The bot, a real homeserver and the real service together."""

import asyncio
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quorra.state import database
from quorra.state.keys import SERVICE, Keys
from quorra.surfaces.matrix.hearing.rules import NOT_YOURS
from tests.surfaces.http.conftest import BOILER, LOOKED, Service, call, new_home, ready, start
from tests.surfaces.matrix.household import Household, with_household
from tests.surfaces.matrix.synapse import Synapse
from tests.surfaces.matrix.test_talks import bodies, reacts, replied

PEOPLE = '[people]\n"mira@example.org" = "owner"\n"tom@example.org" = "tom"\n'


@pytest.fixture(scope="module")
def quorra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    """A running service, and the key by which a bot speaks for people."""
    home = new_home(tmp_path_factory.mktemp("home"))
    with (home / "quorra.toml").open("a") as file:
        file.write(PEOPLE)
    running = start(home, tmp_path_factory.mktemp("log") / "log")
    state = database.open(home / ".quorra" / "state.db")
    _, key = Keys(state).create("matrix", "", datetime.now(UTC), SERVICE)
    state.close()
    ready(running)
    yield running, key
    running.stop()


def subjects(service: Service) -> list[str]:
    words = ["git", "log", "--format=%s"]
    return subprocess.run(words, cwd=service.home, capture_output=True, text=True, check=True).stdout.splitlines()


def test_questions_notices_and_confirmations(quorra: tuple[Service, str], server: Synapse, tmp_path: Path):
    service, key = quorra
    note = service.home / "vault" / "household" / "milk.md"

    async def work(home: Household):
        home.url, home.key = service.url, key
        async with home.running():
            room = await home.room(home.tom, encrypted=True)
            await home.mira.say(room, f"Quorra: {LOOKED}")
            (answer,) = await home.mira.hears(room, home.bot)
            assert BOILER in answer["content"]["body"]
            assert "[1] household/boiler.md:" in answer["content"]["body"]
            written = call("document", path="household/milk.md", text="# Milk\n\nTwo litres.\n")
            await home.mira.say(room, f"Quorra: please\n{written}\n!then\n!say It is written.")
            _, told = await home.mira.hears(room, home.bot, 2)
            assert "It is written." in told["content"]["body"]
            assert "household/milk.md" in told["content"]["body"]
            assert note.exists()
            commit = subprocess.run(
                ["git", "rev-parse", "HEAD"], cwd=service.home, capture_output=True, text=True, check=True
            ).stdout.strip()
            await home.mira.say(
                room, f"Quorra: please\n{call('undo_change', commit=commit)}\n!then\n!say It is undone."
            )
            asked = (await home.mira.hears(room, home.bot, 3))[2]
            assert "Shall I?" in asked["content"]["body"]
            await home.tom.look()
            await home.tom.say(room, "yes", **replied(asked["event_id"]))
            await reacts(home.tom, room, asked["event_id"], "👍")
            await home.mira.hears(room, home.bot, 4)
            assert note.exists()
        async with home.running():
            await reacts(home.mira, room, asked["event_id"], "👍")
            heard = bodies(await home.mira.hears(room, home.bot, 5))
            assert not note.exists()
            direct = await home.room()
            await home.mira.say(direct, "!quorra status")
            await asyncio.sleep(1.5)  # the outbox is looked at twice
            quiet = bodies(await home.mira.hears(direct, home.bot))
        assert heard[3] == NOT_YOURS
        assert "It is undone." in heard[4]
        assert len(quiet) == 1, "what a reply told of is not told again"
        assert service.client.get("/outbox").json() == {"notices": []}
        assert [line for line in home.said if "fault" in line] == []

    with_household(server, tmp_path, work)


def test_a_no_and_the_commands(quorra: tuple[Service, str], server: Synapse, tmp_path: Path):
    service, key = quorra

    async def work(home: Household):
        home.url, home.key = service.url, key
        async with home.running():
            room = await home.room()
            count = len(subjects(service))
            await home.mira.say(room, call("document", path="household/tea.md", text="# Tea\n\nGreen.\n"))
            await home.mira.hears(room, home.bot)
            head = subprocess.run(
                ["git", "rev-parse", "HEAD"], cwd=service.home, capture_output=True, text=True, check=True
            ).stdout.strip()
            await home.mira.say(room, f"{call('undo_change', commit=head)}\n!then\n!say It is left.")
            await home.mira.hears(room, home.bot, 2)
            await home.mira.say(room, "no")
            await home.mira.hears(room, home.bot, 3)
            for text in ("!quorra purpose tea", "!quorra mode nonsense", "!quorra status", "!quorra forget"):
                await home.mira.say(room, text)
            heard = bodies(await home.mira.hears(room, home.bot, 7))
        assert len(subjects(service)) == count + 1
        assert heard[2] == "It is left."
        assert heard[3] == "The purpose is set."
        assert "nonsense" in heard[4]
        assert heard[5].startswith("Scope: general. Mode: none. Purpose: tea.")
        assert heard[6] == "The purpose is forgotten."
        assert service.client.get("/confirmations").json() == {"confirmations": []}

    with_household(server, tmp_path, work)
