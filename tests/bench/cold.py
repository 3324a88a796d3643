"""Cold start: ``quorra --help`` under 0.2 s, ``quorra search --mode words`` under 2 s."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.measure import interleaved

QUORRA = str(Path(sys.executable).parent / "quorra")


def run(*words: str) -> None:
    subprocess.run([QUORRA, *words], check=True, capture_output=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        run("init", home)
        run("sync", "--home", home)
        taken = interleaved(
            {
                "python -c pass": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
                "import lancedb": lambda: subprocess.run([sys.executable, "-c", "import lancedb"], check=True),
                "quorra --help": lambda: run("--help"),
                "quorra search --mode words": lambda: run("search", "--mode", "words", "boiler", "--home", home),
            },
            rounds=9,
        )
    bars = {"quorra --help": 0.2, "quorra search --mode words": 2.0}
    for name, seconds in taken.items():
        print(f"{name:30} {seconds:.3f} s")
    for name, bar in bars.items():
        print(json.dumps({"figure": name, "quorra": round(taken[name], 3), "bar": bar, "holds": taken[name] < bar}))
    sys.exit(any(taken[name] >= bar for name, bar in bars.items()))


if __name__ == "__main__":
    main()
