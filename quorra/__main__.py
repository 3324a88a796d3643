"""Runs the command line as ``python -m quorra``."""

from quorra.surfaces.cli.main import main

main()
