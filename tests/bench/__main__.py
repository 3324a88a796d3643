"""Runs every benchmark one after the other: ``python -m tests.bench [NAME…] [--quick]``."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PARTS = {"__init__", "__main__", "measure", "vaults"}


def main() -> None:
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    flags = [word for word in sys.argv[1:] if word.startswith("-")]
    short = []
    for file in sorted(HERE.glob("*.py")):
        if file.stem in PARTS or (names and file.stem not in names) or "def main" not in file.read_text():
            continue
        print(f"== {file.stem}", flush=True)
        if subprocess.run([sys.executable, "-m", f"tests.bench.{file.stem}", *flags], check=False).returncode:
            short.append(file.stem)
    print("fell short or failed: " + ", ".join(short) if short else "every figure holds")
    sys.exit(bool(short))


main()
