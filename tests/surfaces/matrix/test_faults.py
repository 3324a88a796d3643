"""What stands against the bot: a service that hangs, a server that refuses, one person's trouble; what it forgets."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nio
import pytest

from quorra import metrics
from quorra.settings import Matrix
from quorra.surfaces.matrix import client
from quorra.surfaces.matrix.bot import UNSENT
from quorra.surfaces.matrix.hearing.rules import Asked
from quorra.surfaces.matrix.service import Away, Service
from quorra.surfaces.matrix.speaking import sending
from quorra.surfaces.matrix.speaking.sending import Unsent
from quorra.surfaces.matrix.store import FILE, Posted, Store
from tests.surfaces.matrix.between import Between
from tests.surfaces.matrix.household import Household, with_household
from tests.surfaces.matrix.scripted import KEY, Scripted, Served
from tests.surfaces.matrix.synapse import Synapse
from tests.surfaces.matrix.test_talks import bodies

NOW = datetime(2026, 12, 1, tzinfo=UTC)
MIRA, ROOM = "mira@example.org", "!kitchen:example.org"
ASKS = {"message": "hello", "message_id": "$1"}


def with_service(work: Callable[[Scripted, Service], Awaitable[None]], **told: Any) -> None:
    """Runs a test's work against a scripted service."""

    async def all_of_it() -> None:
        scripted = Scripted(frozenset({MIRA}))
        async with Served(scripted) as served:
            service = Service(served.url, KEY, **told)
            async with asyncio.timeout(10):
                await work(scripted, service)
            await service.close()

    asyncio.run(all_of_it())


def test_a_request_that_hangs_is_repeated_once():
    async def work(scripted: Scripted, service: Service):
        scripted.hung = 1
        got = await service.call(MIRA, "POST", "/chat", ASKS)
        assert got.body["answer"] == "heard: hello"
        scripted.hung = 2
        with pytest.raises(Away):
            await service.call(MIRA, "POST", "/chat", {**ASKS, "message_id": "$2"})
        assert [body["message_id"] for _, path, body in scripted.calls if path == "/chat"] == ["$1", "$1", "$2", "$2"]

    with_service(work, patience=60, turn=0.3)


def test_patience_is_for_waiting_and_not_for_a_turn():
    async def work(scripted: Scripted, service: Service):
        scripted.delay, scripted.busy = 0.6, 1
        got = await service.call(MIRA, "POST", "/chat", ASKS)
        assert got.body["answer"] == "heard: hello"
        scripted.delay, scripted.busy = 0, 2
        with pytest.raises(Away):
            await service.call(MIRA, "POST", "/chat", {**ASKS, "message_id": "$2"})

    with_service(work, patience=1.3)


def test_what_can_never_be_sent_is_given_up(tmp_path: Path):
    async def work() -> None:
        bot = client.make(Matrix(homeserver="http://127.0.0.1:9", user="@quorra:example.org"), tmp_path)
        bot.rooms[ROOM] = nio.MatrixRoom(ROOM, bot.user)
        async with asyncio.timeout(10):
            sent = await sending.send(bot, ROOM, "q1", {"msgtype": "m.notice", "body": "hello"}, longest=0.001)
        assert sent == Unsent("LocalProtocolError"), "it is signed in nowhere"
        await bot.close()

    asyncio.run(work())


def test_an_answer_that_the_server_refuses_is_told_of(server: Synapse, tmp_path: Path):
    between = Between(server.url)
    name = ("matrix_unsent_total", (("kind", "M_TOO_LARGE"),))
    before = metrics.counts().get(name, 0)

    async def work(home: Household):
        async with home.running():
            room = await home.room()
            between.refused = 1
            await home.mira.say(room, "a secret question")
            await home.mira.hears(room, home.bot)
            between.refused = 1
            await home.mira.say(room, "and another")
            while between.refused:
                await asyncio.sleep(0.02)
            await home.mira.say(room, "hello")
            heard = await home.mira.hears(room, home.bot, 2)
        assert bodies(heard) == [UNSENT, "heard: hello"], "the room is told seldom"
        told = [line for line in home.said if "is there" not in line]
        assert told == ["A message could not be sent: M_TOO_LARGE."] * 2
        assert metrics.counts()[name] == before + 2

    with_household(server, tmp_path, work, between)


def test_one_persons_trouble_keeps_nothing_from_the_others(server: Synapse, tmp_path: Path):
    notice = {
        "id": "n1", "principal": "tom@example.org", "kind": "done", "subject": "garden/beds.md was written.",
        "session": "s", "run": "r", "state": "queued",
    }  # fmt: skip

    async def work(home: Household):
        async with home.running():
            await home.room()
            room = await home.room(by=home.tom)
            home.service.away = frozenset({MIRA})
            home.service.outbox.append(notice)
            heard = await home.tom.hears(room, home.bot, seconds=8)
        assert bodies(heard) == ["garden/beds.md was written."]
        assert [line for line in home.said if "fault" in line] == []

    with_household(server, tmp_path, work)


def counts(folder: Path) -> dict[str, int]:
    """Counts what the bot keeps, table by table."""
    tables = ("events", "sends", "confirmations", "said", "told", "rooms", "sessions")
    with sqlite3.connect(folder / FILE) as base:
        return {table: base.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}


def furnished(folder: Path) -> Store:
    """Makes a store in which a question was answered, and something asked that nobody answered."""
    store = Store(folder)
    event = {"event_id": "$1", "sender": "@mira:example.org", "type": "m.room.message", "content": {}}
    store.take("t1", [(ROOM, event)], [], [ROOM], [], NOW)
    (waiting,) = store.waiting()
    asked = Asked("c1", MIRA, "s1", "d", (NOW + timedelta(days=1)).isoformat())
    store.answer(waiting, Posted(({"body": "x"},), MIRA, "s1", asked, "r1", ("It was written.",)), NOW)
    (out,) = store.outgoing()
    store.sent(out.txn, "$2")
    assert store.due(ROOM, "text", timedelta(days=1), NOW)
    assert counts(folder) == dict.fromkeys(counts(folder), 1)
    return store


def test_what_is_old_is_forgotten_and_what_is_not_stays(tmp_path: Path):
    store = furnished(tmp_path)
    store.prune(NOW)
    assert counts(tmp_path) == dict.fromkeys(counts(tmp_path), 1)
    store.post(ROOM, "notice n1", {"body": "y"}, NOW)
    store.prune(NOW + timedelta(days=2))
    kept = {"sends": 1, "rooms": 1, "sessions": 1}
    assert counts(tmp_path) == {**dict.fromkeys(counts(tmp_path), 0), **kept}, "what is still to be sent stays"
    store.close()


def test_a_room_that_is_left_is_forgotten_whole(tmp_path: Path):
    store = furnished(tmp_path)
    store.take("t2", [], [], [], [ROOM], NOW)
    assert counts(tmp_path) == dict.fromkeys(counts(tmp_path), 0)
    store.close()


def test_it_forgets_while_it_runs(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            event = await home.mira.say(room, "hello")
            await home.mira.hears(room, home.bot)
            kept = Store(home.folder / "bot")
            assert kept.seen(event)
            home.ahead = timedelta(days=61)
            async with asyncio.timeout(10):
                while kept.seen(event):
                    await asyncio.sleep(0.05)
            kept.close()
        assert [line for line in home.said if "fault" in line] == []

    with_household(server, tmp_path, work)
