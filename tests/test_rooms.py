"""The shape of the code: sizes, who may call the ledger's verbs, who may read the world."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

FILES = sorted((ROOT / "quorra").rglob("*.py"))


def calls(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func.value), node.func.attr


def room(file: Path) -> str:
    return file.relative_to(ROOT / "quorra").parts[0].removesuffix(".py")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_and_its_functions_are_short(file: Path):
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 60, f"{node.name} is too long"


def test_a_room_has_few_files():
    rooms = Counter(str(file.parent.relative_to(ROOT)) for file in FILES if file.stem != "__init__")
    del rooms["quorra/surfaces/cli/verbs"]  # one file a family of verbs, as the command line lists them
    assert {folder: count for folder, count in rooms.items() if count > 8} == {}


def test_only_the_gate_moves_the_branch():
    callers = {
        str(file.relative_to(ROOT / "quorra"))
        for file in FILES
        for value, verb in calls(ast.parse(file.read_text(encoding="utf-8")))
        if verb in ("commit", "adopt", "merge") and value.split(".")[-1] == "ledger"
    }
    assert {caller for caller in callers if not caller.startswith("ledger/")} == {"access/gate.py"}


def test_only_surfaces_read_the_environment():
    told = {"os.environ", "os.getenv", "sys.argv"}
    reading = {
        str(file.relative_to(ROOT))
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if room(file) != "surfaces" and isinstance(node, ast.Attribute) and ast.unparse(node) in told
    }
    assert reading == set()


def test_lock_files_hold_no_address():
    for file in (ROOT / "requirements").glob("*.lock"):
        assert "://" not in file.read_text(encoding="utf-8")
