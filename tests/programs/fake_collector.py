"""A collector that does what its script says, one script a run: `fake_collector.py RUNS SCRIPTS`, plain Python, without our library.

RUNS is a file that counts the starts; SCRIPTS a JSON array of scripts, the last one for all further runs. A script is an array of steps:

    ["say", {...}]          write a message          ["raw", "text"]       write a line
    ["bytes", "text"]       write without a newline  ["stderr", "text"]    write to standard error
    ["await", "configure"]  read commands until that type; the end of input or a shutdown that is not awaited ends it with status 0
    ["ack", 0]              acknowledge the last revision, off by so much
    ["close", 0]            close a descriptor       ["ignore", 15]        ignore a signal
    ["exit", 3]             end with that status     ["hold"]              do nothing more, and read nothing

After its script it reads commands until it is told to end.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path


class Fake:
    def __init__(self) -> None:
        self.revision = 0

    def command(self) -> str:
        line = sys.stdin.readline()
        said = json.loads(line) if line else {"type": "end"}
        self.revision = said.get("revision", self.revision)
        return str(said["type"])

    def step(self, verb: str, *rest: object) -> None:
        if verb == "say":
            self.write(json.dumps(rest[0]) + "\n")
        elif verb == "raw":
            self.write(f"{rest[0]}\n")
        elif verb == "bytes":
            self.write(str(rest[0]))
        elif verb == "await":
            while (seen := self.command()) != rest[0]:
                if seen in ("end", "shutdown"):
                    sys.exit(0)
        elif verb == "ack":
            self.write(json.dumps({"v": 1, "type": "configured", "revision": self.revision + (int(str(rest[0])) if rest else 0)}) + "\n")
        elif verb == "stderr":
            sys.stderr.write(str(rest[0]))
            sys.stderr.flush()
        elif verb == "close":
            os.close(int(str(rest[0])))
        elif verb == "ignore":
            signal.signal(int(str(rest[0])), signal.SIG_IGN)
        elif verb == "exit":
            os._exit(int(str(rest[0])))
        elif verb == "hold":
            while True:
                time.sleep(60)
        else:
            sys.exit(f"no verb {verb}")

    def write(self, text: str) -> None:
        os.write(1, text.encode())


def main() -> int:
    with Path(sys.argv[1]).open("a+") as runs:
        runs.seek(0)
        number = len(runs.read())
        runs.write("x")
    scripts = json.loads(sys.argv[2])
    fake = Fake()
    for step in scripts[min(number, len(scripts) - 1)]:
        fake.step(*step)
    while fake.command() not in ("end", "shutdown"):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
