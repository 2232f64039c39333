"""The agent command line: `triptych desktop shot`, `diff`, `click` and the rest, carried out by one daemon for each session of a person."""
