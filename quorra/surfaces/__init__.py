"""Where people and programs meet Quorra: translate in, translate out."""
