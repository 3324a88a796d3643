"""Evaluation suites: cases, runs, scores, on a throwaway home."""
