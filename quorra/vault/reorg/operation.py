"""What a reorganization is asked to do: operations, alone or as a plan."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import yaml

from quorra.errors import QuorraError

Verb = Literal["create_folder", "move", "rename", "promote_to_folder", "delete"]
_TWO = ("move", "rename")


class BadPlan(QuorraError):
    """The plan is not a list of operations."""

    code = "bad_plan"

    def __init__(self, why: str) -> None:
        super().__init__(why, "Write a YAML list of entries such as: {op: move, src: inbox/shed.md, dst: home/shed.md}")


@dataclass(frozen=True, slots=True)
class Operation:
    """One step; ``src`` and ``dst`` are whole paths from the vault's folder, the ending of a note optional."""

    op: Verb
    src: str
    dst: str = ""


def read(text: str | bytes) -> tuple[Operation, ...]:
    """Reads a plan; raises BadPlan."""
    try:
        rows = yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadPlan("The plan is not YAML.") from error
    if not isinstance(rows, list) or not rows:
        raise BadPlan("The plan is not a list of operations.")
    return tuple(_operation(at, row) for at, row in enumerate(rows, 1))


def _operation(at: int, row: Any) -> Operation:
    if not isinstance(row, dict) or row.get("op") not in get_args(Verb):
        raise BadPlan(f"Entry {at} of the plan names no operation; there are {', '.join(get_args(Verb))}.")
    verb, src, dst = row["op"], row.get("src") or "", row.get("dst") or ""
    if verb == "create_folder":
        src, dst = dst or src, ""
    if unknown := set(row) - {"op", "src", "dst"}:
        raise BadPlan(f"Entry {at} of the plan holds {', '.join(sorted(map(str, unknown)))}, which is not known.")
    if not (isinstance(src, str) and isinstance(dst, str) and src) or (verb in _TWO) != bool(dst):
        raise BadPlan(f"Entry {at} of the plan: {verb} needs src{' and dst' if verb in _TWO else ' alone'}, as text.")
    return Operation(verb, src, dst)
