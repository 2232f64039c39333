"""A program without a framework that publishes its own trees: a counter, drawn with plain escape sequences. + counts, q quits."""

from __future__ import annotations

import os
import sys
import termios
import tty

from triptych.engine import probe

UNSUPPORTED = {"status": "unsupported", "capability": "geometry", "reason": "capability"}
GEOMETRY = {"displayed": UNSUPPORTED, "intendedRect": UNSUPPORTED, "visibleRect": UNSUPPORTED}


def tree(count: int) -> dict[str, object]:
    columns, rows = os.get_terminal_size()
    return {
        "columns": columns,
        "rows": rows,
        "rootIds": ["root"],
        "nodes": [
            {"id": "root", "role": "application", "name": "Counter", "geometry": GEOMETRY},
            {"id": "count", "parentId": "root", "role": "status", "name": str(count), "geometry": GEOMETRY},
        ],
        "coordinateSpace": UNSUPPORTED,
        "hitGrid": UNSUPPORTED,
    }


def main() -> None:
    client = probe.Client("by-hand", "1.0")
    client.start()
    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    count = 0
    try:
        while True:
            sys.stdout.write(f"\x1b[2J\x1b[Hcount {count}")
            sys.stdout.write(client.publish(tree(count)).decode())
            sys.stdout.flush()
            if count == 0:
                client.log("info", "ready")
            else:
                client.log("warn", "counted", attributes={"value": count})
            if sys.stdin.read(1) == "q":
                break
            count += 1
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        client.close()


if __name__ == "__main__":
    main()
