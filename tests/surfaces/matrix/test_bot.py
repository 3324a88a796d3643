"""The bot against a real homeserver, with a service that answers by rule."""

from pathlib import Path

from tests.surfaces.matrix.household import Household, with_household
from tests.surfaces.matrix.synapse import Synapse


def test_a_direct_room_is_answered(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room()
            event = await home.mira.say(room, "when is bin day?")
            (answer,) = await home.mira.hears(room, home.bot)
        assert answer["content"]["body"] == "heard: when is bin day?"
        assert answer["content"]["msgtype"] == "m.notice"
        assert answer["content"]["m.relates_to"] == {"m.in_reply_to": {"event_id": event}}
        ((person, body),) = home.service.asked
        assert person == "mira@example.org"
        assert body == {
            "message": "when is bin day?", "message_id": event, "scope": ["general"], "origin": "matrix",
        }  # fmt: skip
        assert [line for line in home.said if "fault" in line] == []

    with_household(server, tmp_path, work)


def test_an_encrypted_direct_room_is_answered(server: Synapse, tmp_path: Path):
    async def work(home: Household):
        async with home.running():
            room = await home.room(encrypted=True)
            await home.mira.say(room, "when is bin day?")
            (answer,) = await home.mira.hears(room, home.bot)
        assert answer["content"]["body"] == "heard: when is bin day?"

    with_household(server, tmp_path, work)
