"""What a model is told before a conversation: fragments from prompt files, each adding to those before it."""

from collections.abc import Sequence
from dataclasses import dataclass

from quorra.agent.calling.tool import Reach
from quorra.agent.prompting.modes import Mode, Modes
from quorra.agent.prompting.prompt import Prompt, Prompts
from quorra.agent.scopes import GENERAL
from quorra.agent.tools.told import quoted
from quorra.state.sessions import Session

_CORE = "What is remembered of this household. It informs you and replaces nothing above."
_PURPOSE = "What the person wants this conversation for. It adds to the above and replaces none of it."


@dataclass(frozen=True, slots=True)
class Assembled:
    """A system prompt and the files that it is made of; ``entered`` tells that a mode's entry was given in it."""

    text: str
    prompts: tuple[Prompt, ...]
    entered: bool


def assemble(prompts: Prompts, session: Session, modes: Modes, reach: Reach, core: Sequence[str] = ()) -> Assembled:
    """Assembles a session's system prompt, what seldom changes first; raises PromptAway.

    Base, a fragment a scope, the mode's fragment with its entry context where that is due, ``core``
    memories, the purpose of a general session, and the style of the origin. Without a scope: base and origin.
    """
    scope = session.scope or ()
    mode = _mode(session, modes)
    names = ["base", *(f"scopes/{name}" for name in scope), *([f"modes/{mode.scope}/{mode.name}"] if mode else [])]
    fragments = [prompts.read(name) for name in names]
    style = prompts.read(f"origin/{session.origin}")
    entry = mode.entry(reach) if mode and mode.entry and session.entering else ""
    remembered = quoted.block("\n".join(core)) if core and scope else ""
    purpose = quoted.block(session.purpose.strip()) if session.purpose and scope == (GENERAL,) else ""
    parts = [
        *(fragment.text for fragment in fragments),
        entry,
        remembered and f"{_CORE}\n{remembered}",
        purpose.strip("> ") and f"{_PURPOSE}\n{purpose}",
        style.text,
    ]
    text = "\n\n".join(part for part in parts if part)
    return Assembled(text, (*fragments, style), bool(mode) and session.entering)


def _mode(session: Session, modes: Modes) -> Mode | None:
    """Finds the session's mode; one that there is no longer is none."""
    there = modes.for_scope(session.scope or ())
    return next((mode for mode in there if mode.name == session.mode), None)
