"""A household for one test: the bot on a real homeserver, a scripted service, and people who talk with it."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from quorra.settings import Matrix
from quorra.surfaces.matrix.bot import Bot
from quorra.surfaces.matrix.client import Secrets
from tests.surfaces.matrix.scripted import KEY, Scripted, Served
from tests.surfaces.matrix.synapse import PASSWORD, Person, Synapse

_numbers = itertools.count()


@dataclass
class Household:
    """What a test has at hand; ``mira`` and ``tom`` are mapped, ``stranger`` is not; its clock goes ``ahead``."""

    server: Synapse
    folder: Path
    service: Scripted
    url: str
    homeserver: str
    bot: str
    mira: Person
    tom: Person
    stranger: Person
    key: str = KEY
    said: list[str] = field(default_factory=list)
    rooms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ahead: timedelta = timedelta()

    def settings(self) -> Matrix:
        return Matrix(
            homeserver=self.homeserver, user=self.bot, service=self.url, rooms=self.rooms, patience=20,
            people={self.mira.user: "mira@example.org", self.tom.user: "tom@example.org"},
        )  # fmt: skip

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Bot]:
        """Runs the bot until the block ends; what it kept stays for the next time."""
        secrets = Secrets(password=PASSWORD, service=self.key)
        bot = Bot(
            self.settings(), self.folder / "bot", secrets, clock=lambda: datetime.now(UTC) + self.ahead,
            say=self.said.append, every=0.5, grace=timedelta(seconds=1),
        )  # fmt: skip
        before = len(self.said)
        task = asyncio.create_task(bot.run())
        while not any("is there" in line for line in self.said[before:]):
            if task.done():
                task.result()
            await asyncio.sleep(0.02)
        try:
            yield bot
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def room(self, *others: Person, by: Person | None = None, encrypted: bool = False) -> str:
        """Makes a room with the bot and these people in it."""
        owner = by or self.mira
        users = [self.bot, *(other.user for other in others)]
        room = await owner.room(*users, encrypted=encrypted, direct=not others)
        for other in others:
            await other.look()
        await owner.members(room, 2 + len(others))
        for other in others:
            await other.look()
        return room


def moved_in(server: Synapse, folder: Path, homeserver: str, url: str, service: Scripted) -> Household:
    """Makes the accounts of one household, of their own names so that tests don't meet."""
    mark = next(_numbers)
    people = []
    for name, shown in (("mira", "mira"), ("tom", "Tom"), ("stranger", "Somebody")):
        people.append(Person(server.url, server.register(f"{name}{mark}", shown), folder / name))
    bot = server.register(f"quorra{mark}", "Quorra")
    return Household(server, folder, service, url, homeserver, bot, *people)


def with_household(
    server: Synapse, folder: Path, work: Callable[[Household], Awaitable[None]], proxy: Any = None
) -> None:
    """Runs a test's work in a household of its own."""

    async def all_of_it() -> None:
        service = Scripted(frozenset({"mira@example.org", "tom@example.org"}))
        async with Served(service) as served:
            home = moved_in(server, folder, server.url, served.url, service)
            try:
                if proxy is None:
                    await work(home)
                else:
                    async with Served(proxy) as between:
                        home.homeserver = between.url
                        await work(home)
            finally:
                for person in (home.mira, home.tom, home.stranger):
                    await person.go()

    asyncio.run(all_of_it())
