"""Fixtures that every room's tests share."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("QUORRA_SHARED", str(ROOT.parent / "shared"))).resolve()


@pytest.fixture
def shared() -> Path:
    """The folder of third-party vaults and suites; skips where it is not here, fails where it is required."""
    if SHARED.is_dir():
        return SHARED
    if os.environ.get("QUORRA_REQUIRE_SHARED") == "1":
        pytest.fail(f"QUORRA_REQUIRE_SHARED is set and {SHARED} is not there")
    pytest.skip(f"third-party vaults are not at {SHARED}; set QUORRA_SHARED")


def cases(kind: str) -> list[Any]:
    """The cases of one kind, as parameters named by their ids."""
    path = ROOT / "tests" / "cases" / kind / "cases.yaml"
    return [pytest.param(case, id=case["id"]) for case in yaml.safe_load(path.read_text(encoding="utf-8"))]


@pytest.fixture(autouse=True)
def quiet_git(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs git without the machine's own configuration, so that a test means the same everywhere."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path_factory.getbasetemp() / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)
