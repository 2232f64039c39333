"""Entry of the `triptych` script and of `python -m triptych.engine`. It imports nothing before it can say that it was interrupted."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command. A Ctrl-C while its modules are still being imported is one line too."""
    try:
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("triptych: interrupted\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
