"""Small C helpers with their cffi declarations, one folder an operating system."""
