"""Attacks on the agent and its service: the files of attacks, the stage they are played on, and the judges."""
