"""Every family of tools there is; a new one is a file and a line here."""

from quorra.agent.calling.tool import Tool
from quorra.agent.tools import document, here, knowledge, organize, review, think

EVERY: tuple[Tool, ...] = (
    *knowledge.TOOLS,
    *document.TOOLS,
    *organize.TOOLS,
    *review.TOOLS,
    *think.TOOLS,
    *here.TOOLS,
)
