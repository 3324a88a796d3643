"""The one table of tools: what is not in a session's scope or not for its principal can't be reached at all."""

import re
from collections.abc import Iterable

from quorra.access.decision import Allowed, decide
from quorra.access.principals import Principal
from quorra.agent.calling.tool import Tool

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Registry:
    """Tools by name, fixed for good once they are given."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if not NAME.fullmatch(tool.name) or tool.name in self._tools:
                raise ValueError(f"{tool.name!r} can't name a tool, or names two")
            if (tool.tier == 2) != (tool.draft is not None):
                raise ValueError(f"{tool.name}: a tool of tier 2, and no other, says what it would do")
            self._tools[tool.name] = tool

    def for_scope(self, scope: Iterable[str] | None, principal: Principal) -> tuple[Tool, ...]:
        """Gives what a session of this scope and principal can reach; without a scope there is nothing."""
        return tuple(tool for tool in self._tools.values() if _reaches(tool, frozenset(scope or ()), principal))

    def get_for_scope(self, name: str, scope: Iterable[str] | None, principal: Principal) -> Tool | None:
        """Gives a tool by name if the session can reach it; None for any other, there or not."""
        tool = self._tools.get(name)
        return tool if tool and _reaches(tool, frozenset(scope or ()), principal) else None


def _reaches(tool: Tool, scope: frozenset[str], principal: Principal) -> bool:
    allowed = decide(principal, tier=tool.tier, writes=tool.writes)
    return bool(tool.scopes & scope) and isinstance(allowed, Allowed)
