"""What a backup keeps of a repository and its work tree, and how both are set up again."""
