"""What became of a write, in the one form that every writing verb prints."""

from typing import TYPE_CHECKING

from quorra.surfaces import fields
from quorra.surfaces.cli.verb import DONE, EXITS, FAILED, Result, counted

if TYPE_CHECKING:
    from quorra.access.planned import Written

SHOWN = 10


def written(done: "Written") -> Result:
    """Gives the fields and the text of a write, with its gravest issues, and the exit code."""
    told = " ".join(part for part in (done.reason, done.next) if part)
    name = done.commit or (done.proposal if done.outcome != "declined" else None)
    lines = [f"{done.outcome}: {told}" if told else f"{done.outcome} as {name}" if name else done.outcome]
    if done.planned:
        lines += [f"  {old} -> {new}" for old, new in done.planned.moved]
        lines += [f"  {counted(links, 'link')} in {path}" for path, links in done.planned.rewritten]
    gravest = sorted(done.issues, key=lambda issue: issue.severity != "error")[:SHOWN]
    lines += [f"  {at.severity} {at.code}, line {at.line}: {at.message}" for at in gravest]
    if len(done.issues) > SHOWN:
        lines.append(f"  and {len(done.issues) - SHOWN} more; see them with: quorra check")
    good = done.outcome in ("applied", "parked", "planned", "declined")
    return Result(fields.written(done), "\n".join(lines), DONE if good else EXITS.get(done.code or "", FAILED))
