"""The cases of living with human hands, each done on disk beside a real watcher."""

import ctypes
import os
import time
from pathlib import Path
from typing import Any

import pytest

from quorra.ledger.change import Origin
from quorra.surfaces.cli.verbs.watch import lines
from tests.conftest import cases
from tests.jobs.watched import EVERYTHING, Watched, rename

SELF_MADE = ("WAT-11", "WAT-13")
EVENTS = {"M": "modified", "A": "created", "D": "deleted"}


def do(place: Watched, step: dict[str, Any]) -> None:
    match step:
        case {"write_many": name, "count": count, "text": text, "over_ms": over}:
            for number in range(count):
                place.write(name % number, text.replace("%03d", f"{number:03d}"))
                time.sleep(over / 1000 / count)
        case {"write": path, "text": text}:
            place.write(path, text)
        case {"rename": path, "to": to}:
            rename(place.file(path), place.file(to))
        case {"delete": path}:
            place.file(path).unlink()
        case {"sleep_ms": pause}:
            time.sleep(pause / 1000)
        case {"symlink": path, "to": to}:
            place.file(path).symlink_to(to)
        case {"assistant_write": path, "text": text}:
            done = place.home.changes.write(path, text.encode(), Origin("owner", "test", ""))
            assert done.outcome == "applied", done
        case {"stop": _}:
            place.settled()
            place.rest()
        case {"start": _}:
            place.watch()
        case _:
            pytest.fail(f"no such step: {step}")


def check(place: Watched, expect: dict[str, Any]) -> None:
    for path, words in expect.get("index", {}).items():
        assert place.file(path).read_text(encoding="utf-8").strip().endswith(words)
        assert path in place.found(words), (path, words)
    notes = {each.path for each in _documents(place)}
    for path in expect.get("not_indexed", ()):
        assert path not in notes
    for question, paths in expect.get("search", {}).items():
        assert place.found(question) == paths
    commits = place.commits()
    if "events" in expect:
        done = [line.split("\t") for _, _, paths in commits for line in paths]
        seen = [[EVENTS[kind], path.removeprefix("vault/")] for kind, path in done]
        assert seen == expect["events"]
        assert all(subject.startswith("Direct edit of ") for _, subject, _ in commits)
    for path in expect.get("kept", ()):
        assert place.file(path).is_file()
        assert path not in notes
    if "bare_link_still" in expect:
        place.write("link.md", "\n".join(expect["bare_link_still"]))
        out = place.home.library.links("link.md", EVERYTHING)[0]
        assert [link.resolves for link in out] == list(expect["bare_link_still"].values())
    for report in expect.get("reported", ()):
        assert reported(place, report), (report, place.rounds)


def _documents(place: Watched) -> list[Any]:
    from quorra.index.store import catalogue

    place.home.index.catch_up()
    manifest = place.home.index.manifest()
    assert manifest is not None
    return catalogue.documents(place.home.index.folder / manifest.catalogue)


def reported(place: Watched, report: list[str]) -> bool:
    match report:
        case ["conflict", path, copy]:
            return any((each.path, each.copy) == (path, copy) for found in place.rounds for each in found.conflicts)
        case ["dangling", path, target]:
            return any((each.path, each.target) == (path, target) for found in place.rounds for each in found.dangling)
    return False


@pytest.mark.parametrize("case", [each for each in cases("watch") if each.id not in SELF_MADE])
def test_case(case: dict[str, Any], tmp_path: Path):
    place = Watched(tmp_path, case["vault"])
    place.watch()
    expect = case["expect"]
    try:
        for step in case["steps"]:
            do(place, step)
        wanted = expect.get("reported", ())
        place.settled(lambda: all(reported(place, report) for report in wanted))
        check(place, expect)
        if "index_count" in expect:
            commits = place.commits()
            assert len(_documents(place)) == expect["index_count"] + 1  # the facts page
            assert sum(len(paths) for _, _, paths in commits) == 500
            assert len(commits) <= 1, [subject for _, subject, _ in commits]
        if "direct_edits_logged" in expect:
            assert [subject for _, subject, _ in place.commits()] == ["Change home/boiler.md"]
            assert place.rounds == []
        assert [line for found in place.rounds for line in lines(found)] or not expect.get("reported")
    finally:
        place.close()


def test_wat_11_a_hand_edit_between_plan_and_write_is_not_overwritten(tmp_path: Path):
    place = Watched(tmp_path, {"home/boiler.md": "---\ntitle: Boiler\n---\nold text\n"})
    place.watch()
    blob = place.home.library.read("home/boiler", EVERYTHING).blob
    place.write("home/boiler.md", "person text\n")
    done = place.home.changes.write("home/boiler.md", b"mine\n", Origin("owner", "test", ""), expect=blob)
    assert done.outcome == "stale"
    assert "home/boiler.md" in (done.reason or "")
    place.settled()
    assert place.file("home/boiler.md").read_text() == "person text\n"
    assert [paths for _, _, paths in place.commits()] == [["M\tvault/home/boiler.md"]]
    place.close()


def test_wat_13_without_inotify_files_are_looked_at_now_and_then_and_it_is_said(tmp_path: Path):
    place = Watched(tmp_path, {"home/boiler.md": "old text\n"}, poll=0.5)
    libc = ctypes.CDLL(None, use_errno=True)
    taken: list[int] = []
    try:
        while (one := libc.inotify_init1(os.O_CLOEXEC)) >= 0:
            taken.append(one)
        place.watch()
        place.write("home/new.md", "n\n")
        place.settled(lambda: bool(place.said))
        assert place.said == [
            "Watching is degraded: the system opens no more watchers for this user; "
            "raise fs.inotify.max_user_instances with sysctl. Until then files are looked at now and then."
        ]
        assert [paths for _, _, paths in place.commits()] == [["A\tvault/home/new.md"]]
    finally:
        for one in taken:
            os.close(one)
        place.close()
