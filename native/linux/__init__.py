"""C helpers for Linux: X11 capture and input."""
