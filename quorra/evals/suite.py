"""A suite of retrieval cases as files: ``cases.jsonl`` and, where it names its own vault, ``suite.toml``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from quorra.errors import QuorraError


class SuiteError(QuorraError):
    """The suite can't be read as it is."""

    code = "suite"


class Case(BaseModel):
    """One question: ``relevant`` maps a note (or ``note#heading``) to its grade; empty: the vault can't answer it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    relevant: Mapping[str, float]
    expect: tuple[str, ...] = ()
    window: str | None = None

    @property
    def grades(self) -> dict[str, float]:
        """Gives the grade by note, the best of a note's headings."""
        best: dict[str, float] = {}
        for place, grade in self.relevant.items():
            note = place.partition("#")[0]
            best[note] = max(grade, best.get(note, 0.0))
        return best


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases and the folder of notes they ask about; ``vault`` None is the home's own."""

    name: str
    cases: tuple[Case, ...]
    vault: Path | None = field(default=None)


def find(name: str, evals: Path) -> Path:
    """Finds a suite by its name under ``evals`` or by a path; raises SuiteError."""
    for folder in (evals / name, Path(name)):
        if (folder / "cases.jsonl").is_file():
            return folder.resolve()
    known = sorted(path.parent.name for path in evals.glob("*/cases.jsonl"))
    there = f"Suites here: {', '.join(known)}." if known else "There is no suite in this home yet."
    raise SuiteError(f"No suite {name}: neither {evals / name} nor {name} holds a cases.jsonl.", there)


def read(folder: Path) -> Suite:
    """Reads a suite; raises SuiteError naming the file and the line."""
    cases = tuple(_cases(folder / "cases.jsonl"))
    if not cases:
        raise SuiteError(f"{folder / 'cases.jsonl'} holds no case.", "Write one case a line.")
    return Suite(folder.name, cases, _vault(folder))


def _cases(file: Path) -> list[Case]:
    cases: list[Case] = []
    seen: set[str] = set()
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        try:
            case = Case.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise SuiteError(f"{file}, line {number}: {where} {first['msg']}.", "Mend that line.") from error
        if case.id in seen:
            raise SuiteError(f"{file}, line {number}: {case.id} is there twice.", "Give each case its own id.")
        seen.add(case.id)
        cases.append(case)
    return cases


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"{file} can't be read as UTF-8: {error}.", "Save it as UTF-8 and try again.") from error


def _vault(folder: Path) -> Path | None:
    file = folder / "suite.toml"
    if not file.is_file():
        return None
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SuiteError(f"{file} is not TOML: {error}.", "Mend the line it names.") from error
    unknown = sorted(set(told) - {"vault"})
    if unknown or not isinstance(told.get("vault", ""), str):
        raise SuiteError(f"{file}: only vault, a relative path, is known there.", "Remove what else it holds.")
    if "vault" not in told:
        return None
    vault = Path(folder / told["vault"]).resolve()
    if not vault.is_dir():
        raise SuiteError(f"{file}: there is no folder {vault}.", "Name the folder of the suite's notes.")
    return vault
