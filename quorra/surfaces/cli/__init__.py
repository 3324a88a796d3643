"""The command line."""

import sys


def start() -> None:
    """Runs the command line; Ctrl-C ends it quietly even while it is being loaded."""
    try:
        from quorra.surfaces.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
