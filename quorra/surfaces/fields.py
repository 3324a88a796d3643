"""Values as the JSON objects that every surface speaks."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from quorra.errors import QuorraError

if TYPE_CHECKING:
    from quorra.access.planned import Planned, Written
    from quorra.access.proposals import Shown
    from quorra.agent.asking.answer import Answer
    from quorra.agent.conversation.reply import Reply
    from quorra.evals.run import Run
    from quorra.index.found import Found
    from quorra.state.inbox import Item


def found(value: "Found") -> dict[str, Any]:
    """Gives a search's fields."""
    body = asdict(value)
    if value.reason is None:
        body.pop("reason")
    return body


def reply(value: "Answer | Reply") -> dict[str, Any]:
    """Gives the fields of an answer or a reply."""
    return asdict(value)


def run(value: "Run") -> dict[str, Any]:
    """Gives a run's fields, those of answers only where they were asked for."""
    body = asdict(value)
    if value.answers is None:
        body.pop("answers")
        for case in body["cases"]:
            case.pop("answer")
    return body


def error(value: QuorraError) -> dict[str, Any]:
    """Gives an error's fields."""
    return {"error": {"code": value.code, "message": value.message, "next": value.next}}


def written(value: "Written") -> dict[str, Any]:
    """Gives a write's fields, and for a reorganization what moves and which links change."""
    body = asdict(replace(value, planned=None))
    del body["planned"], body["dangling"]
    return body | (moved(value.planned) if value.planned and value.planned.dangling else {})


def organized(value: "Written") -> dict[str, Any]:
    """Gives the fields of a reorganization, done or not; what was not simulated counts no links."""
    before, after = value.dangling or (None, None)
    return {"moved": [], "rewritten": [], "dangling_before": before, "dangling_after": after} | written(value)


def moved(value: "Planned") -> dict[str, Any]:
    """Gives the fields of a planned reorganization."""
    before, after = value.dangling or (0, 0)
    return {
        "moved": [list(pair) for pair in value.moved],
        "rewritten": [{"path": path, "links": links} for path, links in value.rewritten],
        "dangling_before": before,
        "dangling_after": after,
    }


def item(value: "Item") -> dict[str, Any]:
    """Gives the fields of an entry of the inbox, its payload left out."""
    body = asdict(replace(value, payload={}))
    del body["payload"], body["shown"]
    return body


def tree(value: "Planned", name: "Callable[[str], str | None]") -> dict[str, list[str]]:
    """Gives the paths that only stand before a reorganization and those that only stand after it.

    ``name`` makes a public name of a repository path; a folder's ends in a slash.
    """
    edits = value.change.edits
    before = {name(edit.path) for edit in edits if edit.content is None} | {old for old, _ in value.moved}
    before |= {name(f"{folder}/") for folder in value.change.emptied}
    after = {name(edit.path) for edit in edits if edit.expect is None and edit.content is not None}
    after |= {new for _, new in value.moved} | {f"{name(f'{folder}/')}" for folder in value.change.folders}
    return {"before": sorted(filter(None, before)), "after": sorted(filter(None, after))}


def shown(value: "Shown", diff: str, name: "Callable[[str], str | None]") -> dict[str, Any]:
    """Gives the fields of an entry as it would be done now."""
    planned = value.planned if value.planned and value.planned.dangling else None
    plan = moved(planned) | {"tree": tree(planned, name)} if planned else {}
    return item(value.item) | {"diff": diff, "reason_not": value.reason, "rendering": value.rendering} | plan
