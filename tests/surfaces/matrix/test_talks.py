"""Conversations with the bot: confirmations, commands, restarts, gaps, and what reaches the service."""

import asyncio
import shutil
from pathlib import Path

from quorra.surfaces.matrix.answering import ALONE
from quorra.surfaces.matrix.hearing.rules import NOT_YOURS, ONLY_TEXT
from quorra.surfaces.matrix.store import Store
from tests.surfaces.matrix.household import Household, with_household
from tests.surfaces.matrix.synapse import Person, Synapse


def bodies(heard: list) -> list[str]:
    return [event["content"].get("body", "") for event in heard]


async def reacts(person: Person, room: str, event: str, key: str) -> str:
    content = {"m.relates_to": {"rel_type": "m.annotation", "event_id": event, "key": key}}
    return await person.send(room, content, "m.reaction")


def edit(event: str, text: str) -> dict:
    return {
        "msgtype": "m.text", "body": f"* {text}", "m.new_content": {"msgtype": "m.text", "body": text},
        "m.relates_to": {"rel_type": "m.replace", "event_id": event},
    }  # fmt: skip


def replied(event: str) -> dict:
    return {"m.relates_to": {"m.in_reply_to": {"event_id": event}}}


def test_a_confirmation_is_the_persons_own_and_outlives_a_restart(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(home.tom)
            await home.mira.say(room, "Quorra: !ask remove the old note")
            (asked,) = await home.mira.hears(room, home.bot)
            await home.tom.look()
            await home.tom.say(room, "yes", **replied(asked["event_id"]))
            await reacts(home.tom, room, asked["event_id"], "👍")
            heard = await home.mira.hears(room, home.bot, 2)
        assert home.service.done == []
        assert "garden/old.md would be removed." in asked["content"]["body"]
        assert "Confirmation c0" in asked["content"]["body"]
        assert bodies(heard)[1] == NOT_YOURS
        async with home.running():
            await home.mira.say(room, "yes", **replied(asked["event_id"]))
            heard = await home.mira.hears(room, home.bot, 3)
            await home.mira.say(room, "yes")
            await home.mira.say(room, "yes", **replied(asked["event_id"]))
            heard = await home.mira.hears(room, home.bot, 4)
        assert home.service.done == ["c0"]
        assert bodies(heard)[2:] == ["done: remove the old note", "This is applied already."]
        said = next(body for _, body in home.service.asked if "confirmation_id" in body)
        assert (said["confirmation_id"], said["digest"], said["session_id"]) == ("c0", "digest-c0", "s0")

    with_household(server, tmp_path, work)


def test_reactions_and_a_plain_yes_answer_too(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(encrypted=True)
            for text in ("!ask one", "!ask two", "!ask three"):
                await home.mira.say(room, text)
            one, two, _ = await home.mira.hears(room, home.bot, 3)
            await reacts(home.mira, room, one["event_id"], "✅")
            await home.mira.hears(room, home.bot, 4)
            await reacts(home.mira, room, two["event_id"], "👎")
            await home.mira.hears(room, home.bot, 5)
            await home.mira.say(room, "yes")
            heard = await home.mira.hears(room, home.bot, 6)
        assert bodies(heard)[3:] == ["done: one", "left: two", "done: three"]
        assert home.service.done == ["c0", "c2"]
        assert home.service.confirmations["c1"]["state"] == "declined"
        declined = next(body for _, body in home.service.asked if body.get("confirmation_id") == "c1")
        assert (declined["message"], declined["session_id"], bool(declined["message_id"])) == ("no", "s0", True)
        assert all(method != "DELETE" for method, _, _ in home.service.calls), "a no is idempotent as a yes is"

    with_household(server, tmp_path, work)


def test_a_bare_yes_after_something_else_is_no_confirmation(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            for text in ("!ask remove it", "and when is bin day?", "yes"):
                await home.mira.say(room, text)
            heard = await home.mira.hears(room, home.bot, 3)
            group = await home.room(home.tom)
            await home.mira.say(group, "Quorra: !ask remove it")
            await home.mira.hears(group, home.bot)
            await home.tom.look()
            await home.tom.say(group, "are you coming?")
            await home.mira.say(group, "yes")
            await home.mira.say(group, "Quorra: thanks")
            there = await home.mira.hears(group, home.bot, 2)
        assert home.service.done == []
        assert bodies(heard)[2] == "heard: yes"
        assert bodies(there)[1] == "heard: [mira] thanks"

    with_household(server, tmp_path, work)


def test_what_was_changed_since_is_shown_again(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            await home.mira.say(room, "!ask remove it")
            await home.mira.hears(room, home.bot)
            home.service.confirmations["c0"] |= {"digest": "another", "description": "garden/new.md would be removed."}
            await home.mira.say(room, "yes")
            heard = await home.mira.hears(room, home.bot, 2)
            assert home.service.done == []
            assert "garden/new.md would be removed." in bodies(heard)[1]
            await home.mira.say(room, "yes")
            heard = await home.mira.hears(room, home.bot, 3)
        assert home.service.done == ["c0"]
        assert bodies(heard)[2] == "done: remove it"

    with_household(server, tmp_path, work)


def test_commands_are_done_by_the_bot(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            for text in (
                "!quorra status", "hello", "!quorra purpose plan the move", "!quorra mode budget", "!quorra status",
                "!quorra purpose", "!quorra mode", "!quorra forget", "!quorra status", "!quorra what",
            ):  # fmt: skip
                await home.mira.say(room, text)
            heard = bodies(await home.mira.hears(room, home.bot, 10))
        assert heard[:4] == [
            "There is no conversation here yet: it begins with your first message.", "heard: hello",
            "The purpose is set.", "The mode is budget now.",
        ]  # fmt: skip
        assert heard[4] == "Scope: general. Mode: budget. Purpose: plan the move. Conversation s0."
        assert heard[5:8] == ["The purpose is: plan the move", "No mode is active now.", "The purpose is forgotten."]
        assert heard[8] == "Scope: general. Mode: none. Purpose: none. Conversation s0."
        assert "!quorra mode NAME" in heard[9]
        assert [body["message"] for _, body in home.service.asked] == ["hello"]

    with_household(server, tmp_path, work)


def test_scope_goes_with_the_first_message_of_a_session_only(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(home.tom)
        home.rooms[room] = ("finance", "planning")
        async with home.running():
            for number, person in enumerate((home.mira, home.mira, home.tom), 1):
                await person.say(room, "Quorra: hello")
                await home.mira.hears(room, home.bot, number)
            home.service.sessions.clear()
            await home.mira.say(room, "Quorra: hello again")
            heard = await home.mira.hears(room, home.bot, 4)
        scopes = [(person, body.get("scope"), body.get("session_id")) for person, body in home.service.asked]
        both = ["finance", "planning"]
        mira, tom = "mira@example.org", "tom@example.org"
        assert scopes[:3] == [(mira, both, None), (mira, None, "s0"), (tom, both, None)]
        assert scopes[3:] == [(mira, None, "s0"), (mira, both, None)]
        assert bodies(heard)[3] == "heard: [mira] hello again"

    with_household(server, tmp_path, work)


def test_a_gap_is_read_back(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(home.tom)
        await home.mira.say(room, "Quorra: before the gap")
        for number in range(130):
            await home.tom.say(room, f"chatter {number}")
        await home.mira.say(room, "Quorra: after the gap")
        async with home.running():
            heard = await home.mira.hears(room, home.bot, 2)
        assert bodies(heard) == ["heard: [mira] before the gap", "heard: [mira] after the gap"]

    with_household(server, tmp_path, work)


def test_a_gap_is_not_read_back_into_what_was_before_the_first_start(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(home.tom)
        shutil.rmtree(home.folder / "bot")
        await home.mira.say(room, "Quorra: before the first start")
        async with home.running():
            pass
        for number in range(60):
            await home.tom.say(room, f"chatter {number}")
        await home.mira.say(room, "Quorra: after it")
        async with home.running():
            heard = await home.mira.hears(room, home.bot)
            await home.mira.say(room, "!quorra purpose")
            heard = await home.mira.hears(room, home.bot, 2)
        assert bodies(heard) == ["heard: [mira] after it", "No purpose is set."]

    with_household(server, tmp_path, work)


def test_what_was_said_before_it_was_asked_in_is_not_for_it(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        room = await home.mira.room(home.tom.user, direct=False)
        await home.tom.look()
        for number in range(60):
            await home.mira.say(room, f"Quorra: old {number}")
        async with home.running():
            await home.mira.client.room_invite(room, home.bot)
            await home.mira.say(room, "Quorra: just behind the invitation")
            heard = await home.mira.hears(room, home.bot)
            await home.mira.say(room, "Quorra: new")
            heard = await home.mira.hears(room, home.bot, 2)
            left = await home.stranger.room(home.bot)
            await asyncio.sleep(0.5)
            assert left not in [room.room_id for room in (await joined(home)).values()]
        assert bodies(heard) == ["heard: [mira] just behind the invitation", "heard: [mira] new"]

    async def joined(home: Household) -> dict:
        itself = await Person(server.url, home.bot, tmp_path / "looks").come()
        rooms = dict(itself.client.rooms)
        await itself.go()
        return rooms

    with_household(server, tmp_path, work)


def test_edits_and_removals_count_while_nobody_has_answered(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
        wrong = await home.mira.say(room, "bin dya?")
        gone = await home.mira.say(room, "never mind this")
        await home.mira.send(room, edit(wrong, "bin day?"))
        await home.mira.client.room_redact(room, gone)
        async with home.running():
            await home.mira.say(room, "and then?")
            heard = await home.mira.hears(room, home.bot, 2)
        assert bodies(heard) == ["heard: bin day?", "heard: and then?"]

    with_household(server, tmp_path, work)


def test_a_busy_service_is_asked_again_and_a_long_reply_is_split(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            home.service.busy = 1
            await home.mira.say(room, "hello")
            await home.mira.hears(room, home.bot)
            await home.mira.say(room, "!long 20")
            heard = await home.mira.hears(room, home.bot, 5)
            await home.mira.send(room, {"msgtype": "m.image", "body": "a.jpg", "url": "mxc://example.org/a"})
            await home.mira.send(room, {"msgtype": "m.image", "body": "b.jpg", "url": "mxc://example.org/b"})
            await home.mira.say(room, "bye")
            heard = await home.mira.hears(room, home.bot, 7)
        assert bodies(heard)[0] == "heard: hello"
        assert [body.split()[0] for body in bodies(heard)[1:5]] == ["0", "5", "10", "15"]
        assert bodies(heard)[5:] == [ONLY_TEXT, "heard: bye"]

    with_household(server, tmp_path, work)


def test_a_notice_is_posted_once_into_the_direct_room(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        notice = {
            "id": "n1", "principal": "mira@example.org", "kind": "done", "subject": "garden/beds.md was written.",
            "session": "s", "run": "r", "state": "queued",
        }  # fmt: skip
        home.service.outbox.append(notice)
        async with home.running():
            room = await home.room()
            await home.mira.hears(room, home.bot)
            notice["state"] = "queued"  # as where the bot was killed before it could say that it was sent
            while notice["state"] == "queued":
                await asyncio.sleep(0.05)
            await home.mira.say(room, "hello")
            heard = await home.mira.hears(room, home.bot, 2)
        assert bodies(heard) == ["garden/beds.md was written.", "heard: hello"]

    with_household(server, tmp_path, work)


def test_a_room_that_it_was_put_out_of_leaves_nothing(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            await home.mira.say(room, "!ask one")
            await home.mira.hears(room, home.bot)
            kept = Store(home.folder / "bot")
            assert kept.asked(room)
            await home.mira.client.room_kick(room, home.bot)
            while room in kept.rooms():
                await asyncio.sleep(0.05)
            assert (kept.asked(room), kept.session(room, "mira@example.org"), kept.busy()) == ((), None, frozenset())
            kept.close()
            other = await home.room()
            await home.mira.say(other, "hello")
            assert bodies(await home.mira.hears(other, home.bot)) == ["heard: hello"]
        assert [line for line in home.said if "fault" in line] == []

    with_household(server, tmp_path, work)


def test_a_member_whose_coming_was_redacted_is_one_still(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(home.tom)
            state = await home.tom.client.room_get_state(room)
            (came,) = [one for one in state.events if one.get("state_key") == home.tom.user]
            await home.tom.client.room_redact(room, came["event_id"])
        async with home.running():
            await home.mira.say(room, "not for you")
            await home.mira.say(room, "Quorra: hello")
            assert bodies(await home.mira.hears(room, home.bot)) == ["heard: [mira] hello"]

    with_household(server, tmp_path, work)


def test_a_name_that_is_no_text_stops_nobody(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(home.tom)
            odd = {"membership": "join", "displayname": {"a": ["b"]}}
            await home.tom.client.room_put_state(room, "m.room.member", odd, home.tom.user)
            await home.mira.say(room, "not for you")
            await home.mira.say(room, "Quorra: hello")
            assert bodies(await home.mira.hears(room, home.bot)) == ["heard: [mira] hello"]
        async with home.running():
            await home.mira.say(room, "not for you either")
            await home.mira.say(room, "Quorra: again")
            assert bodies(await home.mira.hears(room, home.bot, 2))[1] == "heard: [mira] again"
        assert [line for line in home.said if "fault" in line] == []

    with_household(server, tmp_path, work)


def test_a_room_that_somebody_comes_to_goes_on_with_nothing_that_was_said_alone(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            await home.mira.say(room, "!ask alone")
            await home.mira.hears(room, home.bot)
            await home.mira.client.room_invite(room, home.tom.user)
            await home.tom.look()
            await home.mira.members(room, 3)
            await asyncio.sleep(1)
            await home.mira.say(room, "Quorra: yes")
            await home.mira.say(room, "Quorra: hello")
            heard = bodies(await home.mira.hears(room, home.bot, 3))
        (_, alone), (_, together) = home.service.asked
        assert "window" not in alone
        assert together["window"] == "household"
        assert "session_id" not in together
        assert heard[1] == ALONE

    with_household(server, tmp_path, work)
