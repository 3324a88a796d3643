"""Reorganization: operations become one map of moves, and every link follows its target."""
