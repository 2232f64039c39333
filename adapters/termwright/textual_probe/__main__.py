"""`python -m triptych.adapters.termwright.textual_probe -- python app.py`: replaces itself by the program, under the probe."""

from __future__ import annotations

import sys

from .launcher import main

if __name__ == "__main__":
    main(sys.argv[1:])
