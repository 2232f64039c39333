"""The demonstration that `triptych demo` and `make run` play: two small programs, and the show of the three panels."""
