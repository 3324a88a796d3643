"""``quorra matrix`` as a process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.surfaces.matrix.scripted import KEY
from tests.surfaces.matrix.synapse import PASSWORD, Synapse


def begin(home: Path, **secrets: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "quorra", "matrix", "--home", str(home)]
    bare = {name: value for name, value in os.environ.items() if not name.startswith("QUORRA_")}
    return subprocess.Popen(
        words, env={**bare, **secrets}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip


def told(home: Path, **secrets: str) -> tuple[int, str]:
    process = begin(home, **secrets)
    _, err = process.communicate(timeout=30)
    return process.returncode, err


def test_what_it_is_not_told_it_asks_for(server: Synapse, tmp_path: Path):
    settings = tmp_path / "quorra.toml"
    settings.write_text("")
    code, err = told(tmp_path)
    assert (code, err.splitlines()) == (
        1,
        [f"The bot has no account. Put homeserver and user into [matrix] in {settings}."],
    )
    user = server.register("verbose")
    settings.write_text(f'[matrix]\nhomeserver = "{server.url}"\nuser = "{user}"\n')
    code, err = told(tmp_path)
    assert (code, "QUORRA_SERVICE_KEY" in err) == (1, True)
    code, err = told(tmp_path, QUORRA_SERVICE_KEY=KEY)
    assert (code, "QUORRA_MATRIX_PASSWORD" in err) == (1, True)
    code, err = told(tmp_path, QUORRA_SERVICE_KEY=KEY, QUORRA_MATRIX_PASSWORD="wrong")
    assert code == 1
    assert err.startswith("The homeserver does not let the bot in: Invalid username or password.")
    assert len(err.splitlines()) == 1
    settings.write_text('[matrix]\nuser = "quorra"\n')
    code, err = told(tmp_path)
    assert (code, "matrix.user" in err) == (1, True)


def test_one_bot_runs_at_a_time_and_ends_quietly(server: Synapse, tmp_path: Path):
    user = server.register("lonely")
    (tmp_path / "quorra.toml").write_text(f'[matrix]\nhomeserver = "{server.url}"\nuser = "{user}"\n')
    first = begin(tmp_path, QUORRA_SERVICE_KEY=KEY, QUORRA_MATRIX_PASSWORD=PASSWORD)
    assert first.stderr
    assert first.stderr.readline() == f"{user} is there, in 0 rooms.\n"
    code, err = told(tmp_path, QUORRA_SERVICE_KEY=KEY)
    assert (code, err) == (3, "Another bot runs on this home. End it first: one answers for all.\n")
    start = time.monotonic()
    first.send_signal(signal.SIGINT)
    assert first.wait(10) == 0
    assert time.monotonic() - start < 5
    assert first.stderr.read() == ""
    again = begin(tmp_path, QUORRA_SERVICE_KEY=KEY)
    assert again.stderr
    assert again.stderr.readline() == f"{user} is there, in 0 rooms.\n", "the password is needed once"
    again.terminate()
    assert again.wait(10) == 0
