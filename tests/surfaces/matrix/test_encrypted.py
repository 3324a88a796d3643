"""Encrypted rooms: keys that come late or never, and what may come encrypted."""

import json
import os
import shutil
import stat
from datetime import timedelta
from pathlib import Path

import nio

from quorra.surfaces.matrix.bot import LOCKED
from quorra.surfaces.matrix.store import FILE, Store
from tests.surfaces.matrix.household import Household, with_household
from tests.surfaces.matrix.synapse import Synapse
from tests.surfaces.matrix.test_cases import UNREADABLE, settled
from tests.surfaces.matrix.test_talks import bodies, edit


def test_encrypted_messages_that_came_while_it_was_down_are_answered_once(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(encrypted=True)
            await home.mira.say(room, "one")
            await home.mira.hears(room, home.bot)
        folder = home.folder / "bot"
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert stat.S_IMODE(os.stat(folder / FILE).st_mode) == 0o600
        await home.mira.say(room, "two")
        await home.mira.say(room, "three")
        async with home.running():
            heard = await home.mira.hears(room, home.bot, 3)
            await home.mira.say(room, "four")
            heard = await home.mira.hears(room, home.bot, 4)
        assert bodies(heard) == ["heard: one", "heard: two", "heard: three", "heard: four"]
        kinds = [event["type"] for event in await home.mira.everything(room)]
        assert (kinds.count("m.room.encrypted"), kinds.count("m.room.message")) == (8, 0)

    with_household(server, tmp_path, work)


def test_a_message_is_answered_when_its_key_comes_late(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(encrypted=True)
            await home.mira.say(room, "one")
            await home.mira.hears(room, home.bot)
        keys, kept = home.folder / "bot" / "keys", Store(home.folder / "bot")
        shutil.rmtree(keys)
        kept.keep(access="", token_of="")
        await home.mira.say(room, "two")
        await home.mira.send(room, edit(await home.mira.say(room, "twwo"), "two, corrected"))
        async with home.running():
            heard = await home.mira.hears(room, home.bot, 2)
            assert bodies(heard)[1] == LOCKED
            await home.mira.say(room, "three")
            heard = await home.mira.hears(room, home.bot, 3)
        await home.mira.client.export_keys(str(tmp_path / "exported"), "passphrase", 1)
        itself = nio.AsyncClient(server.url, home.bot, store_path=str(keys))
        itself.restore_login(home.bot, kept.kept("device"), kept.kept("access"))
        await itself.import_keys(str(tmp_path / "exported"), "passphrase")
        await itself.close()
        kept.close()
        async with home.running():
            await home.mira.hears(room, home.bot, 5)
            await home.mira.say(room, "four")
            heard = await home.mira.hears(room, home.bot, 6)
        assert bodies(heard)[2:] == ["heard: three", "heard: two", "heard: two, corrected", "heard: four"]

    with_household(server, tmp_path, work)


def test_what_is_nested_too_deeply_costs_nobody_their_messages(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(encrypted=True)
            other = await home.room(by=home.tom, encrypted=True)
            await home.mira.say(room, "one")
            await home.mira.hears(room, home.bot)
        await home.mira.hides(room, "[" * 20_000 + "]" * 20_000)
        await home.tom.say(other, "two")
        async with home.running():
            heard = await home.tom.hears(other, home.bot)
            await home.mira.hides(room, "[" * 20_000 + "]" * 20_000)
            await home.tom.say(other, "three")
            heard = await home.tom.hears(other, home.bot, 2)
        assert bodies(heard) == ["heard: two", "heard: three"]
        assert [line for line in home.said if "fault" in line] == []

    with_household(server, tmp_path, work)


def test_only_messages_come_encrypted(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(home.tom, encrypted=True)
            await home.mira.say(room, "Quorra: one")
            await home.mira.hears(room, home.bot)
        asked = await home.tom.say(room, "Quorra: two")
        gone = {"type": "m.room.redaction", "redacts": asked, "content": {"redacts": asked}}
        await home.mira.hides(room, json.dumps(gone))
        await home.mira.hides(room, json.dumps({**gone, "event_id": "$x", "content": 3}))
        async with home.running():
            await home.mira.hears(room, home.bot, 2)
            for user in (home.tom.user, home.bot):
                left = {"type": "m.room.member", "state_key": user, "content": {"membership": "leave"}}
                await home.mira.hides(room, json.dumps(left))
            await home.mira.say(room, "not for you")
            await home.mira.say(room, "Quorra: three")
            heard = await home.mira.hears(room, home.bot, 3)
        assert bodies(heard) == ["heard: [mira] one", "heard: [Tom] two", "heard: [mira] three"]

    with_household(server, tmp_path, work)


def test_each_message_whose_key_never_comes_is_told_of(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            await home.mira.send(room, UNREADABLE, "m.room.encrypted")
            await home.mira.hears(room, home.bot)
            home.ahead = timedelta(hours=7)
            await settled(home, room)
            await home.mira.send(room, UNREADABLE, "m.room.encrypted")
            heard = bodies(await home.mira.hears(room, home.bot, 3))
        assert [body for body in heard if body == LOCKED] == [LOCKED, LOCKED]
        assert heard[2] == LOCKED

    with_household(server, tmp_path, work)


def test_an_edit_stands_in_for_a_message_that_cannot_be_read(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            wrong = await home.mira.send(room, UNREADABLE, "m.room.encrypted")
            await home.mira.hears(room, home.bot)
            await home.tom.look()
            await home.mira.send(room, edit(wrong, "when is bin day?"))
            _, answer = await home.mira.hears(room, home.bot, 2)
            assert Store(home.folder / "bot").locked() == []
        assert answer["content"]["body"] == "heard: when is bin day?"
        assert answer["content"]["m.relates_to"] == {"m.in_reply_to": {"event_id": wrong}}

    with_household(server, tmp_path, work)
