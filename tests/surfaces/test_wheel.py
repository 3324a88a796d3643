"""A built wheel carries all that a new home begins with."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.conftest import ROOT

START = "import quorra, sys; print(quorra.__file__, file=sys.stderr); from quorra.surfaces.cli import start; start()"


def test_a_home_is_made_by_what_a_wheel_installs(tmp_path: Path):
    site, home = tmp_path / "site", tmp_path / "home"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    assert {path.name for path in site.iterdir() if not path.name.endswith(".dist-info")} == {"quorra"}
    words = [sys.executable, "-P", "-c", START, "init", str(home), "--json"]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["commit"]
    assert done.stderr.startswith(str(site))
    for folder in ("vault", "facts", "prompts", "evals/handbook"):
        shipped = {file.relative_to(ROOT / folder) for file in (ROOT / folder).rglob("*") if file.is_file()}
        assert shipped <= {file.relative_to(home / folder) for file in (home / folder).rglob("*")}
