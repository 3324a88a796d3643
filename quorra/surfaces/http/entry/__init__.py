"""What stands before every address: who gets in, by which road."""
