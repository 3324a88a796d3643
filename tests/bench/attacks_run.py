"""500 attacks with a model that does whatever the attacker wants, each on a home and a service of its own.

Half were written before there was any code, half with the code open. A scripted model plays
each attack over HTTP with real sign-in, or through the Matrix bot's own rules and store;
judges look at git, at the database and at everything that reached anybody.

Usage: python -m tests.bench.attacks_run [--only ID[,ID]] [--kind KIND] [--quick] [--show] [--workers N]
"""

import argparse
import asyncio
import json
import multiprocessing
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from tests.bench.attacks import acts, audits, reads, words
from tests.bench.attacks.acts import Verdict
from tests.bench.attacks.people import Cast
from tests.bench.attacks.play import Play
from tests.bench.attacks.puppet import Puppet
from tests.bench.attacks.stage import Stage, Template, load, template

FOLDER = Path(__file__).parent / "attacks"
FILES = ("issue.jsonl", "code.jsonl")


@dataclass
class Result:
    """What came of one attack."""

    ident: str
    judged: int = 0
    unjudged: list[str] = field(default_factory=list)
    breaches: list[tuple[str, str]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unlucky: list[str] = field(default_factory=list)
    agreed: int = 0
    asked: int = 0
    called: int = 0
    seconds: float = 0.0
    crash: str = ""


async def play(attack: dict[str, Any], made: Template, folder: Path, embedder: Any, without: str = "") -> Play:
    """Plays an attack on a fresh copy of the home; ``without`` names what is not to be there."""
    puppet = Puppet()
    stage = Stage(made, folder, embedder, puppet)
    cast = Cast(stage, hide=without)
    puppet.fill = cast.fill
    stage.furnish(attack["vault"], "" if without.startswith("session:") else without)
    playing = Play(attack, stage, cast)
    await playing.run()
    return playing


async def existence(
    attack: dict[str, Any], told: str, first: Play, made: Template, folder: Path, embedder: Any
) -> list[str]:
    """Plays an attack again where a thing does not exist, and tells whether anybody could notice."""
    other = await play(attack, made, folder, embedder, "members" if told == "household" else told)
    try:
        differs = reads.distinct(reads.plain(first), reads.plain(other))
    finally:
        await other.stage.stop()
        shutil.rmtree(folder)
    return [f"it shows whether {told} is there: {differs}"] if differs else []


async def attacked(attack: dict[str, Any], made: Template, folder: Path, embedder: Any) -> Result:
    """Plays an attack and judges it."""
    start, result = time.perf_counter(), Result(attack["id"])
    words.FAULTS.clear()
    words.CONNECTED.clear()
    playing = await play(attack, made, folder / "home", embedder)
    verdict = Verdict()
    try:
        for judge in (acts.judge, reads.judge, audits.judge):
            judge(playing, verdict)
        result.breaches = [(judge, what) for judge, what in verdict.breaches if judge != "card"]
        for told in attack["never"]:
            if told.startswith("tells_existence:"):
                again = folder.parent / f"{folder.name}-again"
                again.mkdir()
                found: list[str] | None = await existence(
                    attack, told.partition(":")[2], playing, made, again / "home", embedder
                )
                shutil.rmtree(again)
            else:
                found = words.word(playing, told, verdict)
            result.judged += found is not None
            if found is None:
                result.unjudged.append(told)
            result.breaches += [(told, what) for what in found or () if (told, what) not in result.breaches]
        result.broken, result.agreed = words.broken(playing), verdict.agreed
        result.asked, result.called = len(playing.cast.cards), len(playing.stage.puppet.sent)
        result.unlucky = playing.unlucky
        if SHOW:
            show(playing)
    finally:
        await playing.stage.stop()
    result.seconds = time.perf_counter() - start
    return result


def show(playing: Play) -> None:
    """Prints what reached anybody."""
    for one in playing.shown:
        print(f"[{one.step}] {one.who or 'stranger'} {one.channel} {one.asked} -> {one.status}\n    {one.text[:1500]}")
    for sent in playing.stage.puppet.sent:
        for message in sent.messages[1:]:
            calls = [call.name + call.arguments[:200] for call in message.calls]
            print(f"  ({sent.who}) {message.role}: {message.content[:700]} {calls}")


SHOW = "--show" in sys.argv


def worker(attacks: list[dict[str, Any]], folder: str, results: Any) -> None:
    """Plays some attacks, one after the other."""
    sys.addaudithook(_connects)
    structlog.configure(processors=[_logged])
    room = Path(folder)
    made = template(room)
    embedder = _embedder(made)

    async def every() -> None:
        for attack in attacks:
            place = room / attack["id"]
            place.mkdir()
            try:
                result = await asyncio.wait_for(attacked(attack, made, place, embedder), 180)
            except BaseException:  # noqa: BLE001 - the runner's own fault is told as what it is
                result = Result(attack["id"], crash=traceback.format_exc()[-1500:])
            results.put(result)
            shutil.rmtree(place, ignore_errors=True)

    asyncio.run(every())


def _embedder(made: Template) -> Any:
    from quorra import settings
    from quorra.home import Home

    return Home(settings.read(made.folder)).embedder


def _connects(event: str, told: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(told[1], tuple):
        words.CONNECTED.append(f"{told[1][0]}:{told[1][1]}")


def _logged(_: object, level: str, event: Any) -> Any:
    """Keeps what the service logs as a fault; the rest is dropped."""
    if level in ("error", "critical", "exception"):
        words.FAULTS.append(json.dumps(dict(event), default=str))
    raise structlog.DropEvent


def chosen(told: argparse.Namespace) -> list[dict[str, Any]]:
    """Gives the attacks that are to be played."""
    every = [attack for name in FILES if (FOLDER / name).exists() for attack in load(FOLDER / name)]
    if told.only:
        return [attack for attack in every if attack["id"] in told.only.split(",")]
    if told.kind:
        return [attack for attack in every if attack["kind"] in told.kind.split(",")]
    return every[::12] if told.quick else every


def run(attacks: list[dict[str, Any]], workers: int) -> list[Result]:
    """Plays attacks in some processes."""
    context = multiprocessing.get_context("spawn")
    found: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        results = context.Queue()
        processes = []
        for at in range(min(workers, len(attacks))):
            room = Path(folder) / f"worker{at}"
            room.mkdir()
            processes.append(context.Process(target=worker, args=(attacks[at::workers], str(room), results)))
            processes[-1].start()
        while len(found) < len(attacks):
            found.append(results.get(timeout=300))
            told(found[-1])
        for process in processes:
            process.join()
    return found


def told(result: Result) -> None:
    """Prints what an attack came to, where it came to something."""
    for judge, what in result.breaches:
        print(f"{result.ident} BREACH {judge}: {what[:300]}")
    for what in result.broken:
        print(f"{result.ident} BROKEN {what}")
    if result.crash:
        print(f"{result.ident} CRASH {result.crash}")
    for what in result.unlucky:
        print(f"{result.ident} could not be played as it is written: {what}")
    sys.stdout.flush()


def report(results: list[Result], seconds: float) -> bool:
    """Prints the figure; tells whether it holds."""
    counted = Counter(judge.partition(":")[0] for one in results for judge in {judge for judge, _ in one.breaches})
    tier2 = sum(counted[name] for name in ("tier2", "vault", "twice"))
    looked = sum(
        any(
            judge in ("reads", "sessions") or judge.startswith(("reads", "shown", "tells")) for judge, _ in one.breaches
        )
        for one in results
    )
    gaps = sum(any(judge in ("audit", "forged", "text") for judge, _ in one.breaches) for one in results)
    row = {
        "figure": "attacks", "run": len(results), "words_judged": sum(one.judged for one in results),
        "words_not_judged": sum(len(one.unjudged) for one in results), "tier2_without_approval": tier2,
        "tier2_with_approval": sum(one.agreed for one in results), "reads_outside_window": looked, "audit_gaps": gaps,
        "server_errors": sum(len(one.broken) for one in results), "other_breaches": dict(counted),
        "attacks_breached": sum(bool(one.breaches) for one in results),
        "crashed": sum(bool(one.crash) for one in results),
        "questions_asked": sum(one.asked for one in results), "model_calls": sum(one.called for one in results),
        "seconds": round(seconds, 1),
    }  # fmt: skip
    unjudged = Counter(told for one in results for told in one.unjudged)
    for word, times in unjudged.most_common():
        print(f"not judged {times} times: {word[:100]}")
    holds = not (tier2 or looked or gaps or row["attacks_breached"] or row["crashed"] or row["server_errors"])
    print(json.dumps({**row, "holds": holds}))
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--kind", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    start = time.perf_counter()
    results = run(chosen(given), given.workers)
    sys.exit(not report(results, time.perf_counter() - start))


if __name__ == "__main__":
    main()
