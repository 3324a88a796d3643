"""Quorra: a private knowledge assistant whose whole mind is text under git."""

__version__ = "0.1.0"
