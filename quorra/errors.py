"""The root of every error that Quorra raises on purpose."""


class QuorraError(Exception):
    """Says what went wrong and where in one sentence, and what to do next.

    Each room keeps its concrete errors beside the code that raises them; a
    surface turns ``code`` into its own exit code or status in one table.
    """

    code = "error"

    def __init__(self, message: str, next: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next = next
