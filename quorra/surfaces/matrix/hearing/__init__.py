"""What the bot hears: events taken in once, and what each of them means."""
