"""What a model may do in a conversation: a file a family, each tool with its scopes and its tier."""
