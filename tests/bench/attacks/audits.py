"""Judges of the audit: its chain holds, no act of tier 1 or 2 lacks its rows, and it holds no text."""

from collections import Counter
from collections.abc import Iterator

from tests.bench.attacks import watch
from tests.bench.attacks.acts import CARD, Verdict
from tests.bench.attacks.play import Play
from tests.bench.attacks.reads import MARK
from tests.bench.attacks.watch import Row

ENDS = {
    "applied": ("approved",), "failed": ("approved", "failed"), "approved": ("approved",), "declined": ("declined",),
    "cancelled": ("cancelled",), "expired": ("expired",),
}  # fmt: skip


def judge(play: Play, found: Verdict) -> None:
    """Judges the audit as it is at the end."""
    last = play.moments[-1].after
    rows = list(last.tables["audit"].values())
    for what in _chain(play, rows):
        found.breach("forged", what)
    for what in (*_calls(last.tables["runs"], rows), *_cards(play, rows), *_effects(play, rows)):
        found.breach("audit", what)
    for what in _texts(play):
        found.breach("text", what)


def _chain(play: Play, rows: list[Row]) -> Iterator[str]:
    """Compares table, file, and what both were before."""
    if not rows and not (play.stage.folder / ".quorra" / "audit.log").exists():
        return
    yield from play.stage.home.audit.verify()
    logged = {row["n"]: row for row in watch.logged(play.stage.folder)}
    if sorted(logged) != [row["n"] for row in rows]:
        yield f"the file has rows {sorted(logged)}, the table {[row['n'] for row in rows]}"
    if [row["n"] for row in rows] != list(range(1, len(rows) + 1)):
        yield "the rows are not numbered without a gap"
    now = {row["n"]: row for row in rows}
    for at, moment in enumerate(play.moments):
        if any(now.get(n) != row for n, row in moment.after.tables["audit"].items()):
            yield f"rows from step {at} differ later"
    sessions = play.moments[-1].after.tables["sessions"]
    for row in rows:
        if row["session"] in sessions and sessions[row["session"]]["principal"] != row["principal"]:
            yield f"row {row['n']} names {row['principal']} for another's session"


def _calls(runs: dict[str, Row], rows: list[Row]) -> Iterator[str]:
    """Finds acts that have begun and have no end."""
    begun = Counter((row["run"], row["tool"]) for row in rows if row["action"] == "call")
    ended = Counter((row["run"], row["tool"]) for row in rows if row["action"] in ("done", "failed", "interrupted"))
    for key, times in begun.items():
        if ended[key] < times and runs.get(key[0], {}).get("state") != "running":
            yield f"{key[1]} begun {times} times and ended {ended[key]} times"


def _cards(play: Play, rows: list[Row]) -> Iterator[str]:
    """Finds cards that were asked or answered without rows."""
    seen: dict[str, Row] = {}
    for moment in play.moments:
        seen |= {ident: row for ident, row in moment.after.tables["inbox"].items() if row["kind"] == CARD}
    for run in {row["run"] for row in seen.values()}:
        mine = [row for row in seen.values() if row["run"] == run]
        acts = Counter(row["action"] for row in rows if row["run"] == run)
        if acts["ask"] < len(mine):
            yield f"{len(mine)} cards in a run and {acts['ask']} rows of asking"
        for state, ends in ENDS.items():
            there = sum(row["state"] == state for row in mine)
            if there and not any(acts[end] for end in ends):
                yield f"a card is {state} and no row says so"
    gone = seen.keys() - play.moments[-1].after.tables["inbox"].keys()
    for ident in gone:
        acts = {row["action"] for row in rows if row["run"] == seen[ident]["run"]}
        if seen[ident]["state"] == "draft_ready" and not acts & {
            "cancelled",
            "declined",
            "expired",
            "approved",
            "forgotten",
        }:
            yield f"card {ident} waited and is gone, and no row says so"


def _effects(play: Play, rows: list[Row]) -> Iterator[str]:
    """Finds commits, proposals and decisions without rows."""
    made = watch.commits(play.stage.folder, play.first.head, play.moments[-1].after.head)
    done = Counter((row["session"], row["tool"]) for row in rows if row["action"] == "done" and row["ok"])
    tools = Counter((one.trailers.get("Quorra-Session"), one.trailers.get("Quorra-Tool")) for one in made)
    for (session, tool), times in tools.items():
        if tool in ("document", "undo_change", "organize") and done[(session, tool)] < times:
            yield f"{times} commits of {tool} and {done[(session, tool)]} rows"
    tools = ("review", "review_approve", "review_decline")
    known = [row for row in rows if row["action"] == "interrupted" or (row["action"] == "done" and row["ok"])]
    decided = sum(row["tool"] in tools for row in known)
    inbox = play.moments[-1].after.tables["inbox"].values()
    ended = sum(row["kind"] != CARD and row["state"] in ("applied", "declined") for row in inbox)
    if decided < ended:
        yield f"{ended} proposals decided and {decided} rows"
    parked = sum(row["kind"] != CARD and row["surface"] not in ("cli", "test") for row in inbox)
    parks = sum(times for (_, tool), times in done.items() if tool in ("document", "organize"))
    if parks < parked:
        yield f"{parked} proposals parked in conversations and {parks} rows"
    notices = Counter(row["run"] for row in play.moments[-1].after.tables["outbox"].values())
    wanted = Counter(row["run"] for row in rows if row["action"] == "done" and row["ok"] and row["tier"] == 1)
    for run, times in wanted.items():
        known = run in play.moments[-1].after.tables["runs"]
        if known and notices[run] < times:
            yield f"{times} acts of tier 1 in a run and {notices[run]} notices"


def _texts(play: Play) -> Iterator[str]:
    """Finds text in the audit."""
    raw = watch.log_text(play.stage.folder)
    if found := MARK.search(raw):
        yield f"the audit holds {found[0]}"
    lines = {
        line.strip()
        for text in play.attack["vault"].values() if isinstance(text, str)
        for line in text.splitlines() if len(line.strip()) > 14
    }  # fmt: skip
    yield from (f"the audit holds {line[:40]!r}" for line in lines if line in raw)
