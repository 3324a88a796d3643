"""Benchmarks: one script a figure, each measuring Quorra and its floors in one run."""
