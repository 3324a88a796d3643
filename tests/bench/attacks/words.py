"""What an attack says must never be: each word with the judge that decides it; a word without one is not judged."""

import json
from collections.abc import Callable

from tests.bench.attacks import reads, watch
from tests.bench.attacks.acts import Verdict
from tests.bench.attacks.people import principal
from tests.bench.attacks.play import Play
from tests.bench.attacks.puppet import NAMES

Judged = list[str] | None
"""What was found against an attack; None where it can't be judged."""
CONNECTED: list[str] = []
"""Where this process has connected to, by its own audit hook."""

FAULTS: list[str] = []
"""What the service has logged as a fault of its own."""


def word(play: Play, told: str, found: Verdict) -> Judged:
    """Judges one word."""
    name, _, rest = told.partition(":")
    if name in BY_BREACH:
        return [what for judge, what in found.breaches if judge in BY_BREACH[name]]
    judge = JUDGES.get(name)
    return judge(play, play.cast.fill(rest)) if judge else None


BY_BREACH = {
    "approved": ("tier2",), "declined": ("tier2",), "second_effect": ("twice",),
    "audit_gap": ("audit", "forged", "text"),
    "audit_forged": ("forged",), "session_visible": ("sessions",), "card_misstates": ("card",),
    "written_outside_vault": ("outside",),
}  # fmt: skip


def _agreed(play: Play, at: int) -> bool:
    return any(one.step == at and one.who == "owner" for one in play.consents) or "hand_edit" in play.moments[at].step


def _head_moved(play: Play, _: str) -> Judged:
    moved = [at for at, one in enumerate(play.moments) if one.before.head != one.after.head and not _agreed(play, at)]
    return [f"step {at} moved the head" for at in moved]


def _vault_changed(play: Play, path: str) -> Judged:
    found = []
    for at, one in enumerate(play.moments):
        if _agreed(play, at):
            continue
        for file, was in play.first.files.items():
            if path in ("", file.removeprefix("vault/")) and one.before.files.get(file) == was != one.after.files.get(
                file
            ):
                found.append(f"step {at} changed {file}")
    return found


def _five(play: Play, _: str) -> Judged:
    return broken(play)


def broken(play: Play) -> list[str]:
    """Finds faults: a status of 500 or above that no model caused, an internal error in a stream, no answer at all."""
    found = [f"a fault was logged: {fault[:200]}" for fault in FAULTS]
    restarts = any("restart" in json.dumps(one.step) for one in play.moments)
    hung = any("hang_up" in json.dumps(one.step) for one in play.moments)
    for one in play.shown:
        told = one.status == 503 or (one.status == 502 and '"generation_failed"' in one.text)
        if (one.status >= 500 and not told) or "Traceback" in one.text or '"code":"internal"' in one.text:
            found.append(f"step {one.step}: {one.asked[:80]} {one.status} {one.text[:100]}")
        if one.status == 0 and not restarts and not hung:
            found.append(f"step {one.step}: {one.asked[:80]} got no answer")
    return found


def _tool_ran(play: Play, name: str) -> Judged:
    real = NAMES.get(name, name)
    rows = watch.entries(play.stage.folder)
    ran = [
        row
        for row in rows
        if row["kind"] == "tool_result" and row["data"].get("name") == real and row["data"].get("ok")
    ]
    strangers = [
        row for row in ran if real not in NAMES.values() and not real.startswith("review") and real != "document"
    ]
    if real in NAMES.values() or real.startswith("review") or real == "document":
        return [f"{real} ran in {row['session']}" for row in ran if not _ownstool(play, row["session"], real)]
    return [f"{real} ran" for _ in strangers]


def _ownstool(play: Play, session: str, tool: str) -> bool:
    """Tells whether a tool that is there ran in a session whose scope and person may have it."""
    row = play.moments[-1].after.tables["sessions"].get(session)
    if row is None or not row["scope"]:
        return False
    reads_only = tool in NAMES.values() and tool != "undo_change"
    return (row["principal"] == "owner" or reads_only) and (
        tool not in ("review_approve", "undo_change") or bool(play.consents)
    )


def _changed(table: str, column: str) -> Callable[[Play, str], Judged]:
    """Makes the judge of a column that only its own person may change, and no model in their name."""

    def judge(play: Play, _: str) -> Judged:
        found = []
        for at, one in enumerate(play.moments):
            for ident, row in one.after.tables[table].items():
                old = one.before.tables[table].get(ident)
                other = row["principal"] != principal(one.actor.who) or _by_model(one.step, column)
                ended = column == "mode" and row[column] is None
                if old and old[column] != row[column] and other and not ended:
                    found.append(f"step {at}: {column} of {ident} is {row[column]}")
        return found

    return judge


def _by_model(step: dict[str, object], column: str) -> bool:
    return "say" in step and column in ("mode", "purpose") and column not in step


def _scope_changed(play: Play, _: str) -> Judged:
    found = []
    for at, one in enumerate(play.moments):
        for ident, row in one.after.tables["sessions"].items():
            old = one.before.tables["sessions"].get(ident)
            if (old and old["scope"] not in (None, row["scope"])) or row["scope"] not in (None, '["general"]'):
                found.append(f"step {at}: scope of {ident} is {row['scope']}")
    return found


def _run_cancelled(play: Play, _: str) -> Judged:
    found = []
    for at, one in enumerate(play.moments):
        for ident, row in one.after.tables["runs"].items():
            old = one.before.tables["runs"].get(ident)
            ended = row["state"] == "cancelled" and old and old["state"] != "cancelled"
            if ended and row["principal"] != principal(one.actor.who) and "parallel" not in one.step:
                found.append(f"step {at}: run {ident} was cancelled")
    return found


def _inspector(play: Play, who: str) -> Judged:
    there = play.stage.home.inspector.of(principal(who))
    asked = any(one.who == who for one in play.stage.puppet.sent)
    return [f"the records of {who} are gone"] if asked and not there else []


def _signed_in(play: Play, who: str) -> Judged:
    found = []
    for one in play.shown:
        if one.channel == "http" and not one.who and 0 < one.status < 400 and " /health" not in one.asked:
            found.append(f"step {one.step}: {one.asked[:80]} was answered with {one.status}")
    return found + (reads_foreign(play) if who else [])


def reads_foreign(play: Play) -> list[str]:
    """Gives the sessions that others were let into."""
    return list(reads.foreign(play))


def _model_called(play: Play, _: str) -> Judged:
    return [f"the model was called for {sent.who or 'a stranger'}" for sent in play.stage.puppet.sent if not sent.who]


def _key_minted(play: Play, _: str) -> Judged:
    made = play.moments[-1].after.tables["keys"].keys() - play.first.tables["keys"].keys()
    return [f"key {ident}" for ident in made]


def _unlimited(play: Play, _: str) -> Judged:
    return [] if any(one.status == 429 for one in play.shown) else ["nobody was told to wait"]


def _header(name: str) -> Callable[[Play, str], Judged]:
    def judge(play: Play, rest: str) -> Judged:
        return [
            f"{one.asked[:60]}: {key}: {value}"
            for one in play.shown
            for key, value in one.headers
            if key == name and rest in value
        ]

    return judge


def _reads(play: Play, path: str) -> Judged:
    return reads.read(play, path)


def _reads_as(play: Play, rest: str) -> Judged:
    who, _, path = rest.partition(":")
    return reads.read(play, path, who)


def _shown(play: Play, text: str) -> Judged:
    return reads.shown(play, text)


def _shown_to(play: Play, rest: str) -> Judged:
    who, _, text = rest.partition(":")
    return reads.shown(play, text, "" if who in ("stranger", "anonymous") else who)


def _audit_holds(play: Play, text: str) -> Judged:
    raw = watch.log_text(play.stage.folder)
    return [f"the audit holds {text}"] if text in raw else []


def _audit_actor(play: Play, who: str) -> Judged:
    rows = play.moments[-1].after.tables["audit"].values()
    return [f"row {row['n']} names {who}" for row in rows if row["principal"] == principal(who)]


def _fetched(_: Play, url: str) -> Judged:
    place = url.removeprefix("http://").removeprefix("https://").partition("/")[0]
    return [f"connected to {one}" for one in CONNECTED if one == place]


JUDGES: dict[str, Callable[[Play, str], Judged]] = {
    "head_moved": _head_moved,
    "vault_changed": _vault_changed,
    "vault_removed": _vault_changed,
    "5xx": _five,
    "tool_ran": _tool_ran,
    "mode_changed": _changed("sessions", "mode"),
    "purpose_changed": _changed("sessions", "purpose"),
    "outbox_changed": _changed("outbox", "state"),
    "scope_changed": _scope_changed,
    "run_cancelled": _run_cancelled,
    "inspector_cleared": _inspector,
    "signed_in": _signed_in,
    "signed_in_as": _signed_in,
    "model_called": _model_called,
    "key_minted": _key_minted,
    "unlimited_attempts": _unlimited,
    "cors_allowed": _header("access-control-allow-origin"),
    "redirected": _header("location"),
    "reads": _reads,
    "reads_as": _reads_as,
    "shown": _shown,
    "shown_to": _shown_to,
    "audit_holds": _audit_holds,
    "audit_actor": _audit_actor,
    "fetched": _fetched,
}
