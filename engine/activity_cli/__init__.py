"""The commands of `triptych activity`, one family a module, and what they show; group.py finds the right one."""
