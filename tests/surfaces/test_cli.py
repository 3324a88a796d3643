"""The command line as programs read it: one JSON object, the right exit code, never a traceback."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

BOILER = "---\ntitle: Boiler\n---\n# Boiler\n\nThe boiler is an AX-20 and its pressure is 1.5 bar.\n"


@dataclass
class Said:
    code: int
    fields: dict[str, Any]
    errors: str


def quorra(*words: str, text: str | None = None, at: Path | None = None) -> Said:
    command = [sys.executable, "-m", "quorra", *words, "--json"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False, cwd=at)
    assert "Traceback" not in done.stderr, done.stderr
    return Said(done.returncode, json.loads(done.stdout), done.stderr)


def vault(root: Path, notes: dict[str, str]) -> Path:
    """Makes a home of a folder that holds some notes."""
    for name, text in notes.items():
        file = root / "vault" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert quorra("init", str(root), "--empty").code == 0
    return root


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("home")
    assert quorra("init", str(place), "--empty").code == 0
    assert quorra("note", "household/boiler", "--home", str(place), text=BOILER).fields["outcome"] == "applied"
    return place


def test_sync_says_how_far_it_is(home: Path):
    said = quorra("sync", "--home", str(home))
    assert said.code == 0
    assert set(said.fields) == {
        "commit", "dirty", "documents", "passages", "embedded", "reused", "pending", "problems", "seconds",
    }  # fmt: skip
    assert said.fields["documents"] == 2
    assert said.fields["pending"] == 0


def test_a_hit_names_where_its_text_stands(home: Path):
    said = quorra("search", "-k", "3", "--", "boiler pressure", "--home", str(home))
    hit = said.fields["hits"][0]
    assert (hit["path"], hit["lines"], hit["heading"]) == ("household/boiler.md", [6, 6], "Boiler")
    assert hit["commit"] == said.fields["commit"]
    git = ["git", "-C", str(home), "show", f"{hit['commit']}:vault/{hit['path']}"]
    assert subprocess.run(git, capture_output=True, text=True, check=True).stdout == BOILER


def test_a_saved_note_is_found_before_it_is_committed(home: Path):
    file = home / "vault" / "new.md"
    file.write_text("# Zither\n\nThe zither lies in the attic.\n")
    quorra("sync", "--for", "0", "--home", str(home))
    hit = quorra("search", "--mode", "words", "zither", "--home", str(home)).fields["hits"][0]
    file.unlink()
    quorra("sync", "--for", "0", "--home", str(home))
    assert (hit["path"], hit["commit"]) == ("new.md", None)
    assert quorra("search", "--mode", "words", "zither", "--home", str(home)).fields["hits"] == []


def test_an_empty_question_is_no_error(home: Path):
    said = quorra("search", "", "--home", str(home))
    assert (said.code, said.fields["hits"], said.fields["reason"]) == (0, [], "empty_query")


def test_an_answer_carries_its_citation(home: Path):
    said = quorra("ask", "What is the pressure of the boiler?", "--home", str(home))
    assert said.code == 0
    assert set(said.fields) == {"outcome", "answer", "citations", "model", "timings", "near"}
    assert said.fields["outcome"] == "quoted"
    assert "1.5 bar" in said.fields["answer"]
    assert set(said.fields["citations"][0]) == {"n", "path", "lines", "commit", "blob", "quote"}


def test_a_model_that_is_away_is_exit_3(home: Path):
    said = quorra("ask", "What is the pressure?", "--model", "openai:http://127.0.0.1:9/v1#x", "--home", str(home))
    assert (said.code, said.fields["outcome"]) == (3, "model_away")


def test_read_gives_the_note_now_and_then(home: Path):
    now = quorra("read", "household/boiler", "--home", str(home)).fields
    assert (now["path"], now["metadata"], now["body"]) == (
        "household/boiler.md", {"title": "Boiler"}, BOILER.split("---\n", 2)[2],
    )  # fmt: skip
    then = quorra("read", f"household/boiler@{now['commit']}", "--home", str(home)).fields
    assert then["blob"] == now["blob"]


def test_a_stale_write_writes_nothing(home: Path):
    said = quorra("note", "household/boiler", "--expect", "0" * 40, "--home", str(home), text="gone")
    assert (said.code, said.fields["outcome"]) == (1, "stale")
    assert (home / "vault/household/boiler.md").read_text() == BOILER


def test_a_broken_note_is_refused_with_its_issues(home: Path):
    said = quorra("note", "bad", "--home", str(home), text="---\na: [1\n---\nx\n")
    assert (said.code, said.fields["outcome"]) == (1, "refused")
    assert "frontmatter-invalid" in {issue["code"] for issue in said.fields["issues"]}
    assert not (home / "vault/bad.md").exists()


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../b", ".hidden/x", "a//b", "x\x01y/.git/z"])
def test_a_way_out_of_the_vault_is_refused(home: Path, path: str):
    said = quorra("note", path, "--home", str(home), text="x")
    assert said.code == 1
    assert said.fields.get("outcome") == "refused" or said.fields["error"]["message"]


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["read", "nowhere"], 1, "no_note"),
        (["read", "household/boiler@nonsense"], 1, None),
        (["search"], 2, "usage"),
        (["search", "x", "-k", "many"], 2, "usage"),
        (["frobnicate"], 2, "usage"),
        (["evals", "run", "nowhere"], 1, "suite"),
        (["ask", "x", "--model", "no-such-model"], 1, None),
    ],
)
def test_what_fails_says_so_in_one_object(home: Path, words: list[str], code: int, name: str | None):
    said = quorra(*words, *([] if words[0] == "frobnicate" else ["--home", str(home)]))
    assert said.code == code
    error = said.fields["error"]
    assert set(error) == {"code", "message", "next"}
    assert name in (None, error["code"])


def test_no_home_is_said_plainly(tmp_path: Path):
    said = quorra("search", "x", at=tmp_path)
    assert (said.code, said.fields["error"]["code"]) == (1, "no_home")


def test_a_home_is_made_once(home: Path):
    said = quorra("init", str(home))
    assert (said.code, said.fields["error"]["code"]) == (1, "unfit")


def test_a_folder_of_notes_becomes_a_home_unchanged(tmp_path: Path):
    (tmp_path / "Daily").mkdir()
    notes = {"Daily/2026-11-30.md": "wrote to [[Mira]]\r\n", "Mira.md": "# Mira\n", ".obsidian/app.json": "{}"}
    for path, text in notes.items():
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode())
    assert quorra("init", str(tmp_path), "--vault", ".").code == 0
    assert {path: (tmp_path / path).read_bytes().decode() for path in notes} == notes
    found = quorra("links", "Daily/2026-11-30", "--home", str(tmp_path)).fields
    assert found["out"][0]["resolves"] == "Mira.md"
    assert quorra("search", "--mode", "words", "Mira", "--home", str(tmp_path)).fields["hits"]


def test_evals_measure_a_suite(home: Path, tmp_path: Path):
    suite = tmp_path / "suite"
    suite.mkdir()
    case = {"id": "a", "question": "boiler pressure", "relevant": {"household/boiler.md": 1}, "expect": ["1.5 bar"]}
    (suite / "cases.jsonl").write_text(json.dumps(case) + "\n")
    said = quorra("evals", "run", str(suite), "--answers", "--home", str(home))
    assert said.fields["metrics"]["hybrid"] == {"recall@5": 1.0, "recall@10": 1.0, "mrr": 1.0, "ndcg@10": 1.0}
    assert said.fields["cases"][0]["passed"] is True
    assert said.fields["cases"][0]["answer"] == {"outcome": "quoted", "right": True}
    assert set(quorra("evals", "run", str(suite), "--home", str(home)).fields["cases"][0]) == {"id", "passed", "scores"}
    assert said.fields["answers"]["right"] == 1


def test_a_run_that_fails_keeps_the_last_result(home: Path, tmp_path: Path):
    out = tmp_path / "result.json"
    out.write_text("kept")
    assert quorra("evals", "run", "nowhere", "--out", str(out), "--home", str(home)).code == 1
    assert (out.read_text(), list(tmp_path.iterdir())) == ("kept", [out])
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "question": "boiler", "relevant": {"household/boiler.md": 1}}\n')
    said = quorra("evals", "run", str(tmp_path), "--out", str(out), "--home", str(home))
    assert json.loads(out.read_text()) == said.fields
    assert quorra("evals", "run", str(tmp_path), "--out", str(tmp_path / "no" / "a"), "--home", str(home)).code == 2


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home where something moved out of the household into one member's folder."""
    place = tmp_path_factory.mktemp("family")
    notes = {"household/plan.md": "# Plan\n\nThe surprise is a zither.\n", "household/a.md": "# A\n\n[[diary]]\n"}
    notes["members/tom/diary.md"] = "# Diary\n\nTom wrote of the zither.\n"
    notes["members/mira/reading.md"] = "# Reading\n\nMira reads of the sea.\n"
    for path, text in notes.items():
        file = place / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert quorra("init", str(place), "--empty").code == 0
    git = ["git", "-C", str(place), "-c", "user.name=Tom", "-c", "user.email=tom@example.org"]
    subprocess.run([*git, "mv", "vault/household/plan.md", "vault/members/tom/plan.md"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Hide the plan"], check=True)
    return place


@pytest.mark.parametrize(
    "words",
    [
        ["read", "members/tom/diary"],
        ["read", "members/tom/diary@HEAD"],
        ["read", "household/plan@HEAD~1"],
        ["links", "members/tom/diary"],
        ["check", "members/tom/diary"],
        ["log", "members/tom/diary"],
    ],
)
def test_another_members_notes_are_not_there(family: Path, words: list[str]):
    assert quorra(*words, "--home", str(family)).code == 0
    seen = quorra(*words, "--home", str(family), "--as", "mira")
    unknown = quorra(words[0], "members/tom/nothing", "--home", str(family), "--as", "mira")
    assert seen.code == 1
    assert seen.fields["error"]["code"] == unknown.fields["error"]["code"] == "no_note"


def test_nothing_of_another_member_is_found_or_told(family: Path):
    told = [
        quorra("search", "--mode", "words", "zither", "--home", str(family), "--as", "mira"),
        quorra("log", "--home", str(family), "--as", "mira"),
        quorra("check", "--home", str(family), "--as", "mira"),
    ]
    assert "zither" not in str(told)
    assert "members/tom" not in str(told)
    assert "Hide the plan" not in str(told)
    out = quorra("links", "household/a", "--home", str(family), "--as", "mira").fields["out"]
    assert out[0]["resolves"] is None
    assert quorra("search", "--mode", "words", "zither", "--home", str(family)).fields["hits"]


def test_a_new_note_may_be_asked_for(home: Path):
    assert quorra("note", "household/boiler", "--expect", "", "--home", str(home), text="# X\n").code == 1
    assert (home / "vault/household/boiler.md").read_text() == BOILER


def test_a_reader_may_not_probe_by_writing(family: Path):
    text = "# A\n\nThis sentence links to [[members/tom/diary]] and to [[members/tom/nothing]].\n"
    said = quorra("note", "household/new", "--as", "mira", "--home", str(family), text=text)
    assert (said.code, said.fields["outcome"], said.fields["issues"]) == (1, "refused", [])


def test_keys_are_the_owners(family: Path):
    for words in (["keys", "create", "x"], ["keys", "list"], ["keys", "revoke", "x"]):
        said = quorra(*words, "--as", "mira", "--home", str(family))
        assert (said.code, said.fields["error"]["code"]) == (1, "not_owner")


def test_a_terminal_is_not_commanded(home: Path):
    (home / "vault" / "esc.md").write_text("# Walnuts\n\nwalnuts \x1b]52;c;ZXZpbA==\x07 \u202ehere\n")
    words = [sys.executable, "-m", "quorra", "search", "--mode", "words", "walnuts", "--home", str(home)]
    subprocess.run([sys.executable, "-m", "quorra", "sync", "--home", str(home)], check=True, capture_output=True)
    done = subprocess.run(words, capture_output=True, check=True)
    (home / "vault" / "esc.md").unlink()
    assert b"walnuts \\x1b]52;c" in done.stdout
    assert b"\x1b" not in done.stdout
    assert "\u202e".encode() not in done.stdout


def test_a_name_that_is_not_utf8_is_still_json(home: Path):
    words = [sys.executable.encode(), b"-m", b"quorra", b"read", b"caf\xe9", b"--json", b"--home", str(home).encode()]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, json.loads(done.stdout.decode("utf-8"))["error"]["code"]) == (1, "no_note")


def test_a_failed_init_leaves_nothing_in_the_way(tmp_path: Path):
    place = tmp_path / "h"
    place.mkdir()
    (place / "facts").write_text("in the way")
    assert quorra("init", str(place)).code == 1
    assert not (place / ".git").exists()
    (place / "facts").unlink()
    assert quorra("init", str(place)).code == 0


def test_a_damaged_index_is_made_again(tmp_path: Path):
    assert quorra("init", str(tmp_path), "--empty").code == 0
    quorra("note", "a", "--home", str(tmp_path), text="# A\n\nThe zither lies in the attic.\n")
    find = ["search", "--mode", "words", "zither", "--home", str(tmp_path)]
    assert quorra(*find).fields["hits"]
    index = tmp_path / ".quorra" / "index"
    damages = [
        lambda: [file.write_bytes(b"") for file in index.glob("catalogue-*.duckdb")],
        lambda: [file.write_bytes(b"junk") for file in index.glob("tables/*/data/*")],
        lambda: (index / "manifest.json").write_text('{"format": 1, "zzz": [' * 1000),
        lambda: (index / "manifest.json").write_text("[]"),
        lambda: [file.write_bytes(b"junk") for file in tmp_path.glob(".quorra/cache/vectors.db")],
    ]
    for number, damage in enumerate(damages):
        damage()
        (tmp_path / "vault" / "b.md").write_text(f"# B\n\nNothing of note, number {number}.\n")
        assert quorra("sync", "--home", str(tmp_path)).fields["documents"] == 3
        assert quorra(*find).fields["hits"][0]["path"] == "a.md"


def test_an_empty_home_has_a_folder_for_its_notes(tmp_path: Path):
    assert quorra("init", str(tmp_path / "home"), "--empty").code == 0
    assert (tmp_path / "home" / "vault").is_dir()


def test_a_file_is_no_place_for_notes(tmp_path: Path):
    (tmp_path / "notes").write_text("x")
    said = quorra("init", str(tmp_path), "--vault", "notes")
    assert (said.code, said.fields["error"]["code"]) == (1, "unfit")
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


@pytest.mark.parametrize("vault", ["../elsewhere", "/etc", "facts"])
def test_a_folder_that_cant_hold_the_notes_is_told_of_itself(tmp_path: Path, vault: str):
    said = quorra("init", str(tmp_path / "h"), "--vault", vault)
    assert (said.code, said.fields["error"]["code"]) == (1, "unfit")
    assert said.fields["error"]["message"].startswith(f"{vault} can't hold the notes: ")
    assert "quorra.toml" not in said.fields["error"]["message"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [["search", "--mode", "words", "boiler"], ["frobnicate"], ["read", "nowhere"], ["--help"]]
)
def test_a_full_disk_is_a_sentence(home: Path, words: list[str]):
    for form in ([], ["--json"]) if words != ["--help"] else ([],):
        shared = [] if words == ["--help"] else ["--home", str(home), *form]
        with Path("/dev/full").open("w") as full:
            command = [sys.executable, "-m", "quorra", *shared, *words]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode in (1, 2)
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr


def test_who_stops_reading_early_gets_no_complaint(home: Path):
    command = f"'{sys.executable}' -m quorra log --home '{home}' | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_options_of_every_verb_stand_anywhere(home: Path):
    for words in (
        ["--home", str(home), "search", "--mode", "words", "boiler"],
        [f"--home={home}", "search", "--mode", "words", "--", "boiler"],
        ["search", "--mode", "words", "--", "boiler", "--home", str(home)],
    ):
        assert quorra(*words).fields["hits"][0]["path"] == "household/boiler.md"


def test_an_empty_folder_name_makes_no_home(tmp_path: Path):
    for words in (["init", ""], ["init", "x", "--vault", ""]):
        said = quorra(*words, at=tmp_path)
        assert (said.code, said.fields["error"]["code"]) == (2, "usage")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["read"], ["links"], ["log"], ["check", "household/boiler"], ["note"]])
def test_an_empty_name_is_no_note(home: Path, words: list[str]):
    for name in ("", " "):
        said = quorra(*words, name, "--home", str(home), text="x")
        assert (said.code, said.fields["error"]["code"]) == (2, "usage")
        assert "is empty" in said.fields["error"]["message"]


def test_notes_outside_the_vault_are_told_of(tmp_path: Path):
    (tmp_path / "a.md").write_text("# A\n\nA note that lies beside the vault.\n")
    assert 'path = "."' in quorra("init", str(tmp_path)).errors


def test_no_input_at_all_is_a_usage(home: Path):
    words = f"'{sys.executable}' -m quorra note x --home '{home}' --json <&-"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "usage")


@pytest.mark.parametrize(
    "name", ["facts/household", "/facts/household.md", "boiler", "household/boiler.md:6", "household/boiler:2-6"]
)
def test_a_note_may_be_named_as_citations_and_links_name_it(home: Path, name: str):
    said = quorra("read", name, "--home", str(home))
    assert (said.code, said.fields["path"].rpartition("/")[2]) == (
        0,
        f"{'household' if 'facts' in name else 'boiler'}.md",
    )


def test_init_tells_of_links_it_does_not_follow_and_of_folders_that_are_its_own(tmp_path: Path):
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "wanted.md").write_text("# Wanted\n")
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "known.md").write_text("# Known\n")
    (tmp_path / "note.md").write_text("# Note\n")
    (tmp_path / "link.md").symlink_to("note.md")
    said = quorra("init", str(tmp_path), "--vault", ".")
    assert said.code == 0
    assert "The folder jobs is Quorra's own here; the notes in it are not read as notes." in said.errors
    assert "The folder facts is Quorra's own here; the notes in it are read as facts." in said.errors
    assert "Symbolic links are not followed" in said.errors
    assert quorra("read", "note", "--home", str(tmp_path)).code == 0
    assert quorra("read", "link", "--home", str(tmp_path)).code == 1


def test_an_excerpt_shows_what_was_found(home: Path):
    (home / "vault" / "long.md").write_text(
        "# Long\n\n" + "Some words that say little. " * 12 + "The marimba is here.\n"
    )
    quorra("sync", "--for", "0", "--home", str(home))
    command = [sys.executable, "-m", "quorra", "search", "--mode", "words", "marimba", "--home", str(home)]
    assert "The marimba is here." in subprocess.run(command, capture_output=True, text=True, check=True).stdout
