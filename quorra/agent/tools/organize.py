"""The tool that reorganizes the vault; it never does so when called: what it asks for is simulated, and then waits."""

import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from quorra.agent.calling.tool import Reach, Result, Tool
from quorra.agent.scopes import GENERAL
from quorra.agent.tools.told import given, quoted, written
from quorra.agent.tools.told.given import Named, Text
from quorra.vault.reorg.operation import Operation, Verb

VERBS = get_args(Verb)
_HOW = f'Give operations as [{{"op": "move", "src": "inbox/shed.md", "dst": "home/shed.md"}}]; op: {", ".join(VERBS)}.'
_ALSO = {
    "mkdir": "create_folder", "create": "create_folder", "new_folder": "create_folder", "make_folder": "create_folder",
    "createfolder": "create_folder", "mv": "move", "move_to": "move", "ren": "rename", "promote": "promote_to_folder",
    "remove": "delete", "rm": "delete", "rmdir": "delete", "trash": "delete",
}  # fmt: skip
_OP = ("op", "operation", "action", "type")
_SRC = ("src", "path", "from", "source", "old", "folder", "note", "file")
_DST = ("dst", "to", "dest", "destination", "target", "new", "new_path", "new_name", "name")
_TWO = ("move", "rename")
_TEXT = {"type": "string"}
_STEP = {
    "type": "object",
    "properties": {"op": {"enum": list(VERBS)}, "src": _TEXT, "dst": _TEXT},
    "required": ["op", "src"],
}
_Steps = Annotated[Any, Meta(extra_json_schema={"type": "array", "items": _STEP})]


class Organize(msgspec.Struct):
    """Propose to move, rename or remove notes and folders; links follow. Nothing changes before a person approves."""

    operations: Annotated[_Steps, Meta(description="all steps in order; whole paths")]
    reason: Text = ""


def organize(reach: Reach, call: Organize) -> Result:
    """Simulates the operations and puts them into the inbox."""
    if not reach.window.whole:
        return Result("Notes can't be reorganized where others listen: ask in a conversation of your own.", ok=False)
    steps, there = _steps(call.operations), given.seen(reach)
    if not steps:
        return Result(f"Not done: there is no operation. {_HOW}", ok=False)
    told, operations = "", list[Operation]()
    for at, step in enumerate(steps, 1):
        taken = _operation(reach, step, there, operations)
        if isinstance(taken, str):
            return Result(f"Not done: operation {at}: {taken}", ok=False)
        operations.append(taken[0])
        told += taken[1]
    done = reach.rooms.changes.organize(operations, reach.origin("organize", given.text(call.reason)), propose=True)
    found = written.result(done, reach, told)
    return found if done.code != "no_note" else replace(found, text=f"{found.text}\n{_near(operations, there)}")


def _steps(value: Any) -> list[Any]:
    """Gives the operations, be they a list, one alone, or either written as a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value] if value.strip() else []
    if isinstance(value, Mapping):
        inner = value.get("operations")
        return _steps(inner) if isinstance(inner, (list, Mapping)) else [value]
    return list(value) if isinstance(value, (list, tuple)) else []


def _operation(
    reach: Reach, step: Any, there: Sequence[str], before: Sequence[Operation]
) -> tuple[Operation, str] | str:
    """Gives a step as an operation with what was taken for what; a sentence where it is none."""
    if not isinstance(step, Mapping):
        return f"{quoted.inline(step)} is no operation. {_HOW}"
    verb = _first(step, _OP).strip().lower().replace("-", "_").replace(" ", "_")
    op = next((known for known in VERBS if known == _ALSO.get(verb, verb)), None)
    if op is None:
        return f"there is no op {quoted.inline(verb)}. {_HOW}"
    src, dst = given.counted(reach, _first(step, _SRC)), given.counted(reach, _first(step, _DST))
    if op == "create_folder":
        src, dst = src or dst, ""
    if not src or (op in _TWO and not dst):
        return f"{op} needs {'src and dst' if op in _TWO else 'src'}. {_HOW}"
    named = Named(src) if op == "create_folder" else _source(reach, src, there, before)
    if isinstance(named, str):
        return named
    to = _target(reach, op, named.path, dst, before) if op in _TWO else ""
    return Operation(op, named.path, to), named.said


def _source(reach: Reach, src: str, there: Sequence[str], before: Sequence[Operation]) -> Named | str:
    """Gives what a step is about: a folder, what an earlier step made, or the file that a name means."""
    made = any(
        src.removesuffix(".md") == one.dst.removesuffix(".md") or src.startswith(f"{one.dst}/") for one in before
    )
    if made or reach.rooms.library.folder(src) or any(one.src == src for one in before):
        return Named(src)
    return given.file(reach, src, there) or Named(src)


def _target(reach: Reach, op: Verb, src: str, dst: str, before: Sequence[Operation]) -> str:
    """Gives the whole new path: a bare new name stays in its folder, and into a folder the old name goes along."""
    if op == "rename":
        return dst if "/" in dst.rstrip("/") else posixpath.join(posixpath.dirname(src.rstrip("/")), dst)
    made = any(one.op == "create_folder" and one.src.rstrip("/") == dst.rstrip("/") for one in before)
    into = dst.endswith("/") or made or reach.rooms.library.folder(dst)
    return f"{dst.rstrip('/')}/{posixpath.basename(src.rstrip('/'))}" if into else dst


def _first(step: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((found for key in keys if (found := given.text(step.get(key)))), "")


def _near(operations: Sequence[Operation], there: Sequence[str]) -> str:
    """Says what is named like the things that were not found, or which folders there are."""
    known = [path for one in operations if one.src not in there for path in given.near(one.src, there)]
    if known:
        return f"Near it by name: {quoted.names(dict.fromkeys(known))}."
    return f"The folders are: {quoted.names(given.folders(there), 20) or 'none yet'}."


TOOLS = (Tool("organize", Organize, frozenset({GENERAL}), 1, organize, writes=True),)
