"""Runs the command line as ``python -m quorra``."""

from quorra.surfaces.cli import start

start()
