"""`git bisect run` over 200 commits of vault history, with checks that use only `quorra … --json`.

Each history is random edits, new notes, removals by hand, and moves and writes through Quorra's own verbs; in one
commit, hidden among the others, a fact changes. Four checks look for that commit: search, ask and read in a clone
that git checks out step by step, and `ask --at` in the untouched home, where no file is checked out. A second,
independent look at the texts with git alone says which commit it was.

Usage: python -m tests.bench.bisect [--quick]
"""

import json
import os
import random
import stat
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from functools import cache
from pathlib import Path

from quorra import home as homes
from quorra import settings
from quorra.access.window import OWNER
from quorra.home import Home
from quorra.ledger.change import Origin
from quorra.vault.reorg.operation import Operation
from tests.bench import vaults
from tests.bench.repository import QUIET, git

COMMITS, SEEDS = 200, 5
NAME = "boiler-pressure"
FACT = "# The heating\n\nThe annual service is in winter.\n\nThe pressure of the boiler is {} bar.\n"
OLD, NEW = "1.2", "1.7"
QUESTION = "What is the pressure of the boiler?"
OTHERS = ("car's tyres", "bicycle's tyres", "garden pump", "espresso machine")
CHECKS = {
    "search": ["search", "the pressure of the boiler in bar"],
    "ask": ["ask", QUESTION],
    "read": ["read", NAME],
}
# Exit 0 says that the old fact still holds, 1 that it does not, 125 that this commit can't tell, as git asks for.
SCRIPT = """#!{python}
import json, subprocess, sys
fields = {{"behind": 1}}
while fields.get("behind"):
    words = [{python!r}, "-m", "quorra", *{words!r}, "--home", ".", "--json"]
    said = subprocess.run(words, capture_output=True, text=True)
    if said.returncode:
        sys.exit(125)
    fields = json.loads(said.stdout)
told = [fields.get("answer", ""), fields.get("body", ""), *(hit["text"] for hit in fields.get("hits", ()))]
sys.exit(not any({old!r} in text for text in told))
"""


def history(root: Path, pick: random.Random, commits: int) -> None:
    """Makes a home with so many commits, the fact among its notes from the first on and changed in one of them."""
    homes.create(root, empty=True)
    for key, value in (("user.name", "Bench"), ("user.email", "bench@localhost"), ("gc.auto", "0")):
        git(root, "config", key, value)
    home = Home.open(settings.read(root))
    notes = {f"area-{number % 4}/note-{number:03d}.md": text(pick) for number in range(60)}
    for name, content in {**notes, f"area-0/{NAME}.md": FACT.format(OLD)}.items():
        place(root, name).parent.mkdir(parents=True, exist_ok=True)
        place(root, name).write_text(content, encoding="utf-8")
    by_hand(root, "the first notes")
    changing = pick.randrange(10, commits - 5)
    for number in range(commits - 2):
        if number == changing:
            file = next((root / "vault").rglob(f"{NAME}.md"))
            file.write_text(file.read_text(encoding="utf-8").replace(OLD, NEW), encoding="utf-8")
        turn(home, root, pick, number, by=number == changing)
    home.close()


def turn(home: Home, root: Path, pick: random.Random, number: int, by: bool) -> None:
    """Makes one commit: a few edits by hand, or one of Quorra's own verbs."""
    there = sorted((root / "vault").rglob("*.md"))
    names = [file.relative_to(root / "vault").as_posix() for file in there]
    kind = "hand" if by else pick.choice(["hand", "hand", "hand", "note", "move"])
    if kind == "move":
        name = pick.choice(names)
        target = f"area-{pick.randrange(6)}/{Path(name).name}"
        if target not in names:
            done = home.changes.organize([Operation("move", name, target)], Origin(OWNER, "bench", ""))
            assert done.outcome == "applied", done
            return
    if kind == "note":
        done = home.changes.write(
            f"area-{pick.randrange(6)}/made-{number}", text(pick).encode(), Origin(OWNER, "bench", "")
        )
        assert done.outcome == "applied", done
        return
    for file in pick.sample([file for file in there if file.stem != NAME], 3):
        if pick.random() < 0.1:
            file.unlink()
        else:
            file.write_text(text(pick), encoding="utf-8")
    # The fact's own note is edited too, elsewhere than in the fact.
    fact = next(file for file in there if file.stem == NAME)
    if pick.random() < 0.2:
        fact.write_text(fact.read_text(encoding="utf-8") + f"\nLooked at in week {number}.\n", encoding="utf-8")
    place(root, f"area-{pick.randrange(4)}/hand-{number}.md").write_text(text(pick), encoding="utf-8")
    by_hand(root, f"edit {number}")


def text(pick: random.Random) -> str:
    """Writes a note of real sections, some with a fact that is like the one that is looked for."""
    thing, number = pick.choice(OTHERS), pick.randint(20, 99)
    like = f"\n\nThe pressure of the {thing} is {number / 10} bar.\n" if pick.random() < 0.2 else "\n"
    return "\n\n".join(pick.sample(sections(), pick.randint(1, 3))) + like


@cache
def sections() -> list[str]:
    """Gives the sections of the third-party vaults that say nothing of what is looked for."""
    return [part for part in vaults.sections() if f"{OLD} bar" not in part and f"{NEW} bar" not in part]


def place(root: Path, name: str) -> Path:
    """Gives a note's file."""
    return root / "vault" / name


def by_hand(root: Path, subject: str) -> None:
    """Commits everything as a person would."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", subject)


def truth(root: Path) -> str:
    """Finds with git alone the commit in which the old fact is gone."""
    found = git(root, "log", "--format=%H", f"-S is {OLD} bar", "--pickaxe-all", "--no-renames", "--", "vault").split()
    for commit in found:
        before, after = (holds(root, each) for each in (f"{commit}^", commit))
        if before and not after:
            return commit
    raise AssertionError("no commit changes the fact")


def holds(root: Path, commit: str) -> bool:
    """Tells with git alone whether a commit holds the old fact."""
    words = ["git", "-C", str(root), "grep", "-q", f"is {OLD} bar", commit, "--", "vault"]
    return subprocess.run(words, check=False).returncode == 0


def checked_out(root: Path, name: str, folder: Path) -> tuple[str, int]:
    """Bisects in a clone, each step a checkout; gives the commit found and the number of steps."""
    clone, script = folder / name, folder / f"{name}.py"
    subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
    script.write_text(SCRIPT.format(python=sys.executable, words=CHECKS[name], old=f"{OLD} bar"), encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    first = git(clone, "rev-list", "--max-parents=0", "HEAD").strip()
    start = git(clone, "rev-list", "--ancestry-path", f"{first}..HEAD").split()[-1]
    git(clone, "bisect", "start", "HEAD", start)
    told = git(clone, "bisect", "run", str(script))
    steps = told.count("running ")
    assert git(clone, "status", "--porcelain") == ""
    return git(clone, "rev-parse", "refs/bisect/bad").strip(), steps


def from_outside(root: Path) -> tuple[str, int]:
    """Bisects without a checkout, by `quorra ask --at`; gives the commit found and the number of steps."""
    commits = git(root, "rev-list", "--reverse", "HEAD").split()
    good, bad, steps = 1, len(commits) - 1, 0
    while bad - good > 1:
        middle = (good + bad) // 2
        words = ["-m", "quorra", "ask", QUESTION, "--at", commits[middle], "--home", str(root), "--json"]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
        if f"{OLD} bar" in json.loads(done.stdout)["answer"]:
            good = middle
        else:
            bad = middle
        steps += 1
    return commits[bad], steps


def main() -> None:
    quick = "--quick" in sys.argv
    os.environ.update(QUIET)
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    found: dict[str, int] = defaultdict(int)
    spent: dict[str, float] = defaultdict(float)
    steps: dict[str, int] = defaultdict(int)
    seeds = 1 if quick else SEEDS
    for seed in range(seeds):
        with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
            root = Path(folder) / "home"
            history(root, random.Random(seed), COMMITS)
            wanted = truth(root)
            before = git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain")
            for name in (*CHECKS, "ask --at"):
                start = time.perf_counter()
                commit, taken = checked_out(root, name, Path(folder)) if name in CHECKS else from_outside(root)
                spent[name] += time.perf_counter() - start
                steps[name] += taken
                found[name] += commit == wanted
            assert (git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain")) == before
    pace = {name: round(spent[name] / count, 2) for name, count in steps.items()}
    for name, count in found.items():
        print(f"{name:10} found {count} of {seeds}, {pace[name]} s a step, {steps[name]} steps")
    row = {"figure": f"bisect over {COMMITS} commits", "found": dict(found), "of": seeds}
    row |= {"seconds a step": pace}
    good = all(count == seeds for count in found.values())
    print(json.dumps({**row, "holds": good}))
    sys.exit(not good)


if __name__ == "__main__":
    main()
