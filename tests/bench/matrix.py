"""200 messages over 20 Matrix rooms, the bot killed and the homeserver restarted in between: each answered once.

Bot, service and homeserver are the real ones, as processes of their own; the model is the scripted one. A third of the
rooms is encrypted and a third are groups, where only every second message is for the bot. People go on talking while
the bot or the server is down. Afterwards every room is read back from the server and the answers are counted by what
they reply to.

Usage: python -m tests.bench.matrix [--quick]
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quorra.state import database
from quorra.state.keys import SERVICE, Keys
from quorra.surfaces.matrix.store import FILE, Store
from tests.surfaces.http.conftest import ready, start
from tests.surfaces.matrix.synapse import PASSWORD, Person, Synapse

NAMES = ("mira", "tom", "ada", "ben")
PATIENCE = 180.0


@dataclass
class Run:
    """One run: who talks where, and what has been asked."""

    server: Synapse
    folder: Path
    home: Path
    key: str
    bot: str
    people: Sequence[Person]
    rooms: list[tuple[str, Person, bool]] = field(default_factory=list)
    asked: dict[str, tuple[str, str]] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the bot as a process of its own."""
        words = [sys.executable, "-m", "quorra", "matrix", "--home", str(self.home)]
        told = {**os.environ, "QUORRA_MATRIX_PASSWORD": PASSWORD, "QUORRA_SERVICE_KEY": self.key}
        with (self.folder / "bot.log").open("ab") as log:
            self.process = subprocess.Popen(words, env=told, stderr=log, stdout=log)

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Ends the bot, as a power cut does where nothing else is said."""
        if self.process:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None


async def furnish(run: Run, rooms: int) -> None:
    """Makes the rooms: every third is a group, every third encrypted."""
    for number in range(rooms):
        person, other = run.people[number % len(run.people)], run.people[(number + 1) % len(run.people)]
        group, encrypted = number % 3 == 2, number % 3 == 1 or number % 9 == 8
        others = [other.user] if group else []
        room = await person.room(run.bot, *others, encrypted=encrypted, direct=not group)
        if group:
            await other.look()
        await person.members(room, 3 if group else 2)
        run.rooms.append((room, person, group))


async def talk(run: Run, messages: int, between: Mapping[int, Callable[[], Any]], rng: random.Random) -> None:
    """Says everything, room by room in turn, with what happens in between."""
    for number in range(messages):
        if number in between:
            await asyncio.to_thread(between[number])
        room, person, group = run.rooms[number % len(run.rooms)]
        text = f"question {number}"
        event = await person.say(room, f"Quorra: {text}" if group else text)
        run.asked[event] = (room, text)
        if group:
            run.idle.add(await person.say(room, f"chatter {number}"))
        await asyncio.sleep(rng.uniform(0, 0.05))


async def settle(run: Run) -> float:
    """Waits until the bot has nothing left to answer or send; gives the seconds."""
    start = time.monotonic()
    store = Store(run.home / ".quorra" / "matrix")
    while time.monotonic() < start + PATIENCE:
        await asyncio.sleep(0.5)
        if sum((await answers(run)).values()) >= len(run.asked) and not store.busy():
            break
    store.close()
    await asyncio.sleep(3)  # for an answer too many
    return time.monotonic() - start


async def answers(run: Run) -> Counter[str]:
    """Counts the bot's answers by the message that they reply to, as the server has them."""
    found: Counter[str] = Counter()
    for room, person, _ in run.rooms:
        for event in await person.everything(room):
            if event["sender"] == run.bot and event["type"] in ("m.room.message", "m.room.encrypted"):
                relation = event["content"].get("m.relates_to", {})
                found[relation.get("m.in_reply_to", {}).get("event_id", "none")] += 1
    return found


async def right(run: Run) -> int:
    """Counts the answers that answer their own question, read by the people who asked."""
    number = 0
    for person in run.people:
        await person.look()
        for room, event in person.heard:
            if event["sender"] == run.bot and event["type"] == "m.room.message":
                to = event["content"].get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id")
                asked = run.asked.get(to or "")
                owner = next(one for ident, one, _ in run.rooms if ident == room)
                number += bool(asked and owner is person and event["content"]["body"].endswith(asked[1]))
    return number


async def measure(folder: Path, messages: int, rooms: int) -> bool:
    """Runs it all and prints what came of it."""
    rng = random.Random(4)
    server = Synapse(folder / "synapse")
    server.start()
    service = start(new_home(folder / "home"), folder / "service.log")
    ready(service)
    run = None
    try:
        run = await prepare(server, folder, service.url)
        await furnish(run, rooms)
        between = {
            messages * 3 // 10: run.stop,
            messages * 4 // 10: run.start,
            messages * 6 // 10: lambda: (server.stop(), server.start()),
            messages * 8 // 10: lambda: (run.stop(), run.start()),
        }
        await talk(run, messages, between, rng)
        waited = await settle(run)
        held = tell(run, await answers(run), await right(run), waited)
        for person in run.people:
            await person.go()
    finally:
        if run:
            run.stop(signal.SIGTERM)
        service.stop()
        server.stop()
    return held


def new_home(home: Path) -> Path:
    """Makes a home of four members whose model is the scripted one."""
    subprocess.run([sys.executable, "-m", "quorra", "init", str(home), "--empty"], check=True, capture_output=True)
    for name in NAMES:
        note = home / "vault" / "members" / name / "about.md"
        note.parent.mkdir(parents=True)
        note.write_text(f"# {name.title()}\n\nA member of the household.\n")
    people = "\n".join(f'"{name}@example.org" = "{name}"' for name in NAMES)
    (home / "quorra.toml").write_text(f'[vault]\npath = "vault"\n[model]\nbackend = "scripted"\n[people]\n{people}\n')
    return home


async def prepare(server: Synapse, folder: Path, url: str) -> Run:
    """Makes the accounts, tells the home of them, and starts the bot."""
    people = [await Person(server.url, server.register(name), folder / name).come(name.title()) for name in NAMES]
    bot = server.register("quorra")
    named = await Person(server.url, bot, folder / "naming").come("Quorra")
    await named.client.logout()
    await named.go()
    home = folder / "home"
    mapped = "\n".join(f'"{person.user}" = "{name}@example.org"' for name, person in zip(NAMES, people, strict=True))
    with (home / "quorra.toml").open("a") as told:
        told.write(f'[matrix]\nhomeserver = "{server.url}"\nuser = "{bot}"\nservice = "{url}"\n')
        told.write(f"[matrix.people]\n{mapped}\n")
    state = database.open(home / ".quorra" / "state.db")
    _, key = Keys(state).create("matrix", "", datetime.now(UTC), SERVICE)
    state.close()
    run = Run(server, folder, home, key, bot, people)
    run.start()
    while not (home / ".quorra" / "matrix" / FILE).exists():
        await asyncio.sleep(0.1)
    return run


def tell(run: Run, found: Counter[str], fitting: int, waited: float) -> bool:
    """Prints the counts; tells whether each was answered exactly once and nothing else was."""
    counts = Counter(found[event] for event in run.asked)
    once, never = counts[1], counts[0]
    twice = len(run.asked) - once - never
    other = sum(number for event, number in found.items() if event not in run.asked)
    print(
        f"{len(run.asked)} messages in {len(run.rooms)} rooms: {once} answered once, {twice} more often, {never} never"
    )
    print(
        f"{fitting} answers fit their question; {other} answers to what was not asked ({len(run.idle)} such messages)"
    )
    print(f"settled {waited:.1f} s after the last message; the bot was killed twice, the homeserver restarted once")
    holds = once == len(run.asked) and not other and fitting == once
    figure = {"messages": len(run.asked), "rooms": len(run.rooms), "once": once, "twice": twice, "never": never}
    print(json.dumps({"figure": "matrix", **figure, "unasked": other, "fitting": fitting, "holds": holds}))
    return holds


def main() -> None:
    """Runs the benchmark."""
    messages, rooms = (40, 6) if "--quick" in sys.argv else (200, 20)
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(not asyncio.run(measure(Path(folder), messages, rooms)))


if __name__ == "__main__":
    main()
