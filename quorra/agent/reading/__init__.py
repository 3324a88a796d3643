"""Reading a sentence closely: its words, names and exact statements."""
