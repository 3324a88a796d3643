"""The cases of kind ``matrix``: every one with the bot's own code, a real homeserver and real events in it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from quorra.surfaces.matrix.hearing.rules import REFUSAL
from quorra.surfaces.matrix.store import Store
from tests.conftest import cases
from tests.surfaces.matrix.between import Between
from tests.surfaces.matrix.household import Household, with_household
from tests.surfaces.matrix.synapse import Person, Synapse

CASES = {param.id: param.values[0] for param in cases("matrix")}
STRAIGHT = [f"MTX-{number:02}" for number in (1, 2, 3, 4, 5, 6, 7)]
UNREADABLE = {
    "algorithm": "m.megolm.v1.aes-sha2", "sender_key": "c2VuZGVyIGtleSB0aGF0IG5vYm9keSBoYXMgc2VlbiBoZXI",
    "session_id": "c2Vzc2lvbiB0aGF0IG5vYm9keSBoYXMgc2hhcmVkIGhlcmU", "device_id": "GONE",
    "ciphertext": "AwgAEnACgAkLmt6qF84IK++J7UDH2Za1YVchHyprqTqsg",
}  # fmt: skip


def events(case: Mapping[str, Any], home: Household) -> list[dict[str, Any]]:
    """Gives a case's events with the ids of this household."""
    text = json.dumps(case["events"])
    for name, person in (("mira", home.mira), ("tom", home.tom), ("otherbot", home.tom), ("stranger", home.stranger)):
        text = text.replace(f"@{name}:example.org", person.user)
    found: list[dict[str, Any]] = json.loads(text.replace("@quorra:example.org", home.bot))
    return found


async def settled(home: Household, room: str) -> list[Mapping[str, Any]]:
    """Waits until all said so far in a room was looked at, in its order, and gives the bot's answers to it."""
    await home.mira.say(room, "!quorra status")
    while not (heard := await home.mira.hears(room, home.bot)) or "Scope" not in heard[-1]["content"]["body"]:
        if heard and "no conversation" in heard[-1]["content"]["body"]:
            break
        await home.mira.look(500)
    return heard[:-1]


@pytest.mark.parametrize("ident", STRAIGHT)
def test_a_case(ident: str, server: Synapse, tmp_path: Path):
    case = CASES[ident]

    async def work(home: Household):
        async with home.running():
            others = [home.tom, home.stranger] if case["room"]["members"] == 4 else []
            room = await home.room(*others)
            said: dict[str, str] = {}
            for event in events(case, home):
                content = event["content"]
                if "m.new_content" in content:
                    await home.mira.hears(room, home.bot)
                    content["m.relates_to"]["event_id"] = said[content["m.relates_to"]["event_id"]]
                said[event.get("event_id", "")] = await home.mira.send(room, content)
            answers = await settled(home, room)
        assert len(answers) == case["expect"]["replies"]
        assert len(home.service.asked) == case["expect"]["replies"]
        if "forwarded" in case["expect"]:
            assert home.service.asked[0][1]["message"] == case["expect"]["forwarded"]

    with_household(server, tmp_path, work)


def test_mtx_08_after_a_restart_each_is_answered_once(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            kept = Store(home.folder / "bot")
            before = kept.kept("token")
            one = await home.mira.say(room, "one")
            await home.mira.hears(room, home.bot)
        kept.keep(token=before)
        kept.close()
        two = await home.mira.say(room, "two")
        async with home.running():
            await home.mira.hears(room, home.bot, 2)
            answers = await settled(home, room)
        told = [answer["content"]["m.relates_to"]["m.in_reply_to"]["event_id"] for answer in answers]
        assert {"$1": told.count(one), "$2": told.count(two)} == CASES["MTX-08"]["expect"]["answered"]
        assert len(answers) == 2
        assert [path for _, path, _ in home.service.calls].count("/chat") == 2

    with_household(server, tmp_path, work)


def test_mtx_09_neither_its_own_words_nor_another_bots(server: Synapse, tmp_path: Path):
    case = CASES["MTX-09"]

    async def work(home: Household):
        async with home.running():
            room = await home.room(by=home.tom)
            itself = await Person(server.url, home.bot, tmp_path / "elsewhere").come()
            own, other = events(case, home)
            await itself.send(room, own["content"])
            await home.tom.send(room, other["content"])
            await home.tom.say(room, "!quorra status")
            heard = await home.tom.hears(room, home.bot, 2)
            await itself.go()
        assert heard[0]["content"]["body"] == "hello"
        assert len(heard) - 2 == case["expect"]["replies"]
        assert home.service.asked == []

    with_household(server, tmp_path, work)


def test_mtx_10_a_limited_rate_is_waited_for(server: Synapse, tmp_path: Path):
    expect = CASES["MTX-10"]["expect"]
    between = Between(server.url, wait_ms=expect["wait_ms_at_least"])

    async def work(home: Household):
        async with home.running():
            room = await home.room()
            between.limited = 1
            await home.mira.say(room, CASES["MTX-10"]["events"][0]["content"]["body"])
            await home.mira.hears(room, home.bot)
            (first, path, refused), (second, again, taken) = between.sends
            answers = await settled(home, room)
        assert (refused, taken, path) == (429, 200, again)
        assert (second - first) * 1000 >= expect["wait_ms_at_least"]
        assert len(answers) == expect["messages_in_room"]

    with_household(server, tmp_path, work, between)


def test_mtx_11_what_cannot_be_decrypted_is_told_of_once(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            for _ in range(3):
                await home.mira.send(room, UNREADABLE, "m.room.encrypted")
            heard = await home.mira.hears(room, home.bot)
            answers = await settled(home, room)
        assert "can't read" in heard[0]["content"]["body"]
        assert len(answers) == CASES["MTX-11"]["expect"]["notice_at_most"]
        assert [line for line in home.said if "fault" in line] == []

    with_household(server, tmp_path, work)


def test_mtx_12_a_stranger_is_refused(server: Synapse, tmp_path: Path):
    case = CASES["MTX-12"]

    async def work(home: Household):
        async with home.running():
            room = await home.room(home.stranger)
            await home.mira.client.room_leave(room)
            await home.stranger.members(room, 2)
            (event,) = events(case, home)
            await home.stranger.send(room, event["content"])
            heard = await home.stranger.hears(room, home.bot)
            for text in ("and the alarm?", "!quorra status", "hello?"):
                await home.stranger.say(room, text)
            heard = await home.stranger.hears(room, home.bot, 2, seconds=1.5)
        assert [answer["content"]["body"] for answer in heard] == [REFUSAL]
        assert home.service.calls == []
        assert not any(name.lower() in REFUSAL.lower() for name in ("mira", "tom", "door"))

    with_household(server, tmp_path, work)


def test_every_case_is_here():
    assert set(CASES) == {*STRAIGHT, "MTX-08", "MTX-09", "MTX-10", "MTX-11", "MTX-12"}
