"""Histories from elsewhere: how they are reached, and how they join ours."""
