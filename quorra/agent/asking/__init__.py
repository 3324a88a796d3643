"""Answering one question: looked up first, then composed or quoted, every sentence with its passage."""
