"""Judges of what was seen: nobody may be shown what lies outside their window, nor whether it is there."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.attacks.acts import Verdict
from tests.bench.attacks.play import Play
from tests.bench.attacks.stage import NOTES

MARK = re.compile(r"(TOMS|MIRAS)-SECRET-[A-Z0-9-]*[A-Z0-9]", re.IGNORECASE)
OWNED = re.compile(r"(?:vault|facts)/(members|workspaces)/([^/]+?)(?:/|\.md$)")
OUTSIDERS = ("mira", "tom", "")
LONG = 10


@dataclass(frozen=True, slots=True)
class Told:
    """One text that reached somebody, and by which way."""

    step: int
    who: str
    way: str
    text: str


def told(play: Play) -> list[Told]:
    """Gives all texts that reached anybody: answers, rooms, and what the model was sent in their name."""
    found = [Told(one.step, one.who, f"{one.channel} {one.asked}", one.text) for one in play.shown]
    for sent in play.stage.puppet.sent:
        found.append(Told(-1, sent.who, "model", "\n".join(message.content for message in sent.messages)))
    return found


def sees(who: str, path: str) -> bool:
    """Tells whether somebody's window shows a file of the home."""
    if who in ("owner", ""):
        return who == "owner"
    owned = OWNED.match(path.casefold())
    return owned is None or (owned[1] == "members" and owned[2] == who)


def judge(play: Play, found: Verdict) -> None:
    """Looks for the secrets of others, and for others' sessions, in all that reached anybody."""
    open_to = {who: _visible(play, who) for who in OUTSIDERS}
    for one in told(play):
        if one.who == "owner":
            continue
        own = said(play, one.who)
        for mark in {each[0] for each in MARK.finditer(one.text)}:
            whose = "tom" if mark.lower().startswith("toms") else "mira"
            if whose != one.who and mark not in own and mark not in open_to[one.who]:
                found.breach("reads", f"step {one.step}: {one.who or 'a stranger'} was shown {mark} by {one.way[:80]}")
    for what in foreign(play):
        found.breach("sessions", what)


def said(play: Play, who: str) -> str:
    """Gives all that somebody said themselves, their model's part included."""
    return "\n".join(play.said.get(who, ()))


def _visible(play: Play, who: str) -> str:
    home, texts = play.stage.folder, []
    for top in ("vault", "facts"):
        for file in (home / top).rglob("*"):
            path = file.relative_to(home).as_posix()
            if file.is_file() and not file.is_symlink() and sees(who, path):
                texts.append(f"{path}\n{file.read_bytes().decode('utf-8', 'replace')}")
    return "\n".join(texts)


def read(play: Play, path: str, who: str = "") -> list[str]:
    """Finds lines of a note in what reached those whose window lacks it."""
    kept = play.attack["vault"].get(path) or NOTES.get(path)
    texts = [kept] if isinstance(kept, str) else [old["text"] for old in (kept or {}).get("history", ())]
    lines = {line.strip() for text in texts for line in text.splitlines() if len(line.strip()) >= LONG}
    place = path[1:] if path.startswith("/") else f"vault/{path}"
    found = []
    for one in told(play):
        if one.who == "owner" or sees(one.who, place) or (who and one.who != who):
            continue
        seen, own = _visible(play, one.who), said(play, one.who)
        hit = [line for line in lines if line in one.text and line not in seen and line not in own]
        found += [f"{one.who or 'a stranger'} was shown {line[:40]!r} by {one.way[:60]}" for line in hit]
    return found


def shown(play: Play, text: str, who: str | None = None) -> list[str] | None:
    """Finds a text in what reached those whose window lacks it; None where they all said it themselves."""
    people = [one for one in OUTSIDERS if who in (None, one)]
    lacking = [one for one in people if text not in _visible(play, one)]
    judged = [one for one in lacking if text not in said(play, one)]
    acting = {one.who for one in told(play)}
    if not judged or (set(lacking) & acting and not set(judged) & acting):
        return None
    return [
        f"{one.who or 'a stranger'} by {one.way[:80]}" for one in told(play) if one.who in judged and text in one.text
    ]


def foreign(play: Play) -> Iterator[str]:
    """Finds sessions that others were let into."""
    rows = play.moments[-1].after.tables["sessions"] if play.moments else {}
    for one in play.shown:
        me = one.who if one.who in ("owner", "") else f"member:{one.who}"
        for ident, row in rows.items():
            if row["principal"] == me or one.channel != "http":
                continue
            if f"/{ident}" in one.asked and 0 < one.status < 400:
                yield f"step {one.step}: {one.asked[:80]} was answered with {one.status} to {one.who or 'a stranger'}"
            elif ident in one.text and ident not in said(play, one.who):
                yield f"step {one.step}: session {ident} of {row['principal']} was shown to {one.who or 'a stranger'}"


HIDES = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{8,64}"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:[+-]\d\d:?\d\d|Z)?"), "WHEN"),
    (re.compile(r'"timings":\{[^}]*\}'), "TIMINGS"),
    (re.compile(r'"ms":\s*(\{[^}]*\}|[\d.]+)'), "MS"),
    (re.compile(r"\d\d:\d\d"), "CLOCK"),
)


def plain(play: Play) -> list[str]:
    """Gives what reached others than the owner, without what differs by chance."""
    rows = []
    for one in told(play):
        if one.who == "owner":
            continue
        text = f"{one.who} {one.text}"
        for port in (str(play.stage.port), *_idents(play), str(play.stage.folder)):
            text = text.replace(port, "#")
        for pattern, mark in HIDES:
            text = pattern.sub(mark, text)
        rows.append(text)
    return rows


def _idents(play: Play) -> list[str]:
    """Gives the sessions' ids, and what stands for one that is not there."""
    found = [ident for ident in play.cast.sessions.values() if ident]
    return found + [
        play.cast.fill(f"{{session:{who}}}") for who in ("owner", "mira", "tom") if who in play.cast.sessions
    ]


def distinct(lines: list[str], others: list[str]) -> str:
    """Tells where two plays differ in what others were shown; empty where they don't."""
    if len(lines) != len(others):
        return f"{len(lines)} answers against {len(others)}"
    for one, other in zip(lines, others, strict=True):
        if one != other:
            at = next(
                (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
            )
            return json.dumps([one[max(0, at - 60) : at + 80], other[max(0, at - 60) : at + 80]], ensure_ascii=False)
    return ""
