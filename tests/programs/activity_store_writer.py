"""Adds numbered observations to a store for ever, and says what is committed: DATA_DIR FIRST BATCH. `DATA_DIR lock` holds its lock."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from activity_store_kit import EDITOR, FILES, NOW, admitted, git, opened  # found by the line above
from triptych.machines.collector.gates import Admitted


def numbered(number: int) -> Admitted:
    """One of a stream in which episodes begin and go on, titles come and go."""
    if number % 50 < 40:
        root = f"/w/{number // 500 % 3}"
        return admitted(number, NOW + number, file=f"{root}/{number % 7}.py", workspace=git(root), title=f"title {number}", hours=720)
    return admitted(number, NOW + number, app=FILES if number % 2 else EDITOR, title=f"folder {number % 9}", hours=720)


def main() -> None:
    folder, what, *more = sys.argv[1:]
    with opened(Path(folder)) as store:
        if what == "lock":
            with store._db.writing():
                sys.stdout.write("locked\n")
                sys.stdout.flush()
                sys.stdin.read()
            return
        number, size = int(what), int(more[0])
        while True:
            store.add([numbered(one) for one in range(number, number + size)])
            number += size
            sys.stdout.write(f"{number - 1}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
