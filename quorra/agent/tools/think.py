"""A tool to think with: the call is logged, and its text comes back to nobody."""

import msgspec

from quorra.agent.calling.tool import Reach, Result, Tool
from quorra.agent.scopes import GENERAL
from quorra.agent.tools.told.given import Text


class Think(msgspec.Struct):
    """Think a step through before you act. Nobody reads it; nothing is done."""

    thought: Text


def think(reach: Reach, call: Think) -> Result:
    """Does nothing."""
    return Result("Noted. Go on.")


TOOLS = (Tool("think", Think, frozenset({GENERAL}), 0, think),)
