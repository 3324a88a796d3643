"""What tools tell a model, and how they read what it gives them: the words that every family shares."""
