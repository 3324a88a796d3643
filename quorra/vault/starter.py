"""The files that a new home begins with."""

from collections.abc import Iterator
from pathlib import Path

from quorra.settings import FILE, Settings

_TOLD = """\
# This home's settings. Every key has a default; vault/handbook/settings.md in Quorra's own vault lists them.
[vault]
path = "{path}"
"""
_FACTS = "# Household\n\n<!-- One fact a line, as you would say it. -->\n"
_EVALS = "# Suites\n\nOne folder a suite, with its questions in cases.jsonl. Run one with: quorra evals run NAME\n"
_JOBS = "# Jobs\n\nDefinitions of what Quorra does by herself. None yet.\n"


def files(shipped: Path, settings: Settings, *, notes: bool) -> dict[str, bytes]:
    """Gives path and content of each file; ``notes`` adds the starter vault and its facts."""
    root = settings.vault_root
    found = {
        FILE: _TOLD.format(path=settings.vault.path).encode(),
        "facts/household.md": _FACTS.encode(),
        "evals/README.md": _EVALS.encode(),
        "jobs/README.md": _JOBS.encode(),
        **{f"prompts/{path}": content for path, content in _below(shipped / "prompts")},
    }
    if notes:
        found |= {f"{root}/{path}" if root else path: content for path, content in _below(shipped / "vault")}
        found |= {f"facts/{path}": content for path, content in _below(shipped / "facts")}
    return found


def _below(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*.md")):
        yield file.relative_to(folder).as_posix(), file.read_bytes()
