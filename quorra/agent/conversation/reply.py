"""What goes into a turn and what comes out of it."""

from dataclasses import dataclass, field
from typing import Any, Literal

from quorra.access.confirmations import wish
from quorra.agent.asking.answer import Citation, Claim
from quorra.state.inbox import Item

Outcome = Literal["answered", "quoted", "not_found", "model_away", "asked", "empty", "stopped"]


@dataclass(frozen=True, slots=True)
class Said:
    """What a person says. ``scope`` and ``origin`` count on a session's first message.

    ``message_id`` is the client's own: a repeated one gets the reply that there is already.
    ``confirmation_id`` says yes to what waits, ``digest`` to just what was shown of it. ``window`` names the
    domains that are open where others listen, separated by commas.
    """

    message: str
    session_id: str | None = None
    scope: tuple[str, ...] | None = None
    origin: str | None = None
    message_id: str = ""
    confirmation_id: str | None = None
    digest: str | None = None
    window: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """What waits for a person's yes; ``digest`` stands for exactly what will be done, ``expires`` is ISO 8601."""

    id: str
    session_id: str
    tool: str
    title: str
    description: str
    arguments: dict[str, Any]
    digest: str
    expires: str

    @property
    def question(self) -> str:
        """Puts it before a person in words."""
        return f"{self.title}\n\n{self.description}\n\nShall I?"


def pending(item: Item) -> Pending:
    """Gives a confirmation as a person sees it."""
    asked = wish(item)
    return Pending(
        item.id, item.session, asked.tool, asked.title, asked.text, dict(asked.arguments), item.digest, item.expires
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a turn came to.

    ``outcome`` is an answer's, or ``asked`` where it waits for a yes, ``empty`` where the model said nothing, and
    ``stopped`` where the loop was ended for a reason that ``notices`` tells. ``claims`` is None where
    nothing was looked up, so that nothing could be checked.
    """

    outcome: Outcome
    answer: str
    citations: tuple[Citation, ...]
    model: str
    session_id: str
    run_id: str
    timings: dict[str, float] = field(default_factory=dict)
    near: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] | None = None
    pending_confirmation: Pending | None = None
    notices: tuple[str, ...] = ()
    interrupted: bool = False
