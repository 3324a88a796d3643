"""Conversations: sessions in which a model and its tools answer, one run a turn."""
