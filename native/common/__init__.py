"""C helpers that every system shares: tiles and damage, colour and size."""
