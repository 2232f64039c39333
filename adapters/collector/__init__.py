"""The activity panel's processes, accessibility bus and database."""
