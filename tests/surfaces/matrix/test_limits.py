"""A homeserver with its usual limits on how often somebody may send."""

import time
from pathlib import Path

from tests.surfaces.matrix.household import Household, with_household
from tests.surfaces.matrix.synapse import Synapse
from tests.surfaces.matrix.test_talks import bodies


def test_more_messages_than_the_server_takes_at_once_all_arrive_in_order(tmp_path: Path):
    server = Synapse(tmp_path / "synapse", limited=True)
    server.start()

    async def work(home: Household):
        async with home.running():
            room = await home.room()
            start = time.monotonic()
            await home.mira.say(room, "!long 50")
            heard = bodies(await home.mira.hears(room, home.bot, 10, seconds=40))
            assert time.monotonic() - start > 2, "a server takes ten events at once, the coming of the bot among them"
        assert [body.split()[0] for body in heard] == [str(5 * part) for part in range(10)]

    try:
        with_household(server, tmp_path, work)
    finally:
        server.stop()
