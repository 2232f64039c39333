"""What make gen, make docs and make run start."""
