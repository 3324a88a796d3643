"""Calling tools: what a tool is, who reaches which, and how one call is answered."""
