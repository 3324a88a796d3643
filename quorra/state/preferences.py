"""Preferences: what each principal has chosen for themselves."""

from dataclasses import dataclass

from quorra.state.database import Database


@dataclass(frozen=True, slots=True)
class Chosen:
    """A principal's choices."""

    show_thinking: bool = True
    developer_mode: bool = False


class Preferences:
    """The preferences of one home."""

    def __init__(self, database: Database) -> None:
        self._ask = database.ask

    def of(self, principal: str) -> Chosen:
        """Gives what a principal has chosen, and the defaults where they haven't."""
        for row in self._ask("SELECT show_thinking, developer_mode FROM preferences WHERE principal = ?", principal):
            return Chosen(*map(bool, row))
        return Chosen()

    def set(self, principal: str, *, show_thinking: bool | None = None, developer_mode: bool | None = None) -> Chosen:
        """Changes what is given, leaves the rest, and gives the whole."""
        default = Chosen()
        sql = (
            "INSERT INTO preferences VALUES (?1, coalesce(?2, ?4), coalesce(?3, ?5)) ON CONFLICT (principal) DO UPDATE"
            " SET show_thinking = coalesce(?2, show_thinking), developer_mode = coalesce(?3, developer_mode)"
        )
        self._ask(sql, principal, show_thinking, developer_mode, default.show_thinking, default.developer_mode)
        return self.of(principal)
