"""Checks that stand between a draft and a person."""
