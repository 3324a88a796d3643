"""What the bot says: its own sentences, sent once each."""
