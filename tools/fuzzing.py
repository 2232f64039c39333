"""Runs fuzz targets for a time, by atheris where it is installed, else by mutation; the fuzz programs of this folder call it.

A target takes bytes and says in a word how they ended; it raises when they broke something. The input that broke it is kept as a file.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..errors import RemoteProtocolError

STATISTIC: Final = re.compile(r"^stat::(\w+):\s+(\d+)$", re.MULTILINE)


class Broken(AssertionError):
    """An input for which the library does what it must not."""


def outcome(allowed: frozenset[str], work: Callable[[], object]) -> tuple[str, Any]:
    """How `work` ended: one of the documented codes `allowed`, or `ok` and its answer."""
    try:
        return "ok", work()
    except RemoteProtocolError as fault:
        if fault.code not in allowed:
            raise Broken(f"the code {fault.code!r} is not documented here") from fault
        return fault.code, None


@dataclass(frozen=True)
class Campaign:
    """The targets of one fuzz program: the module `module` has them by name in its `TARGETS`."""

    module: str  #: its dotted name
    about: str
    targets: Mapping[str, Callable[[bytes], str]]
    seeds: Callable[[str], list[bytes]]  #: what the mutations of a target start from
    tokens: Sequence[bytes]  #: pieces that mean something to what is attacked
    longest: int = 20_000  #: bytes of an input

    def mutated(self, data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
        """A few edits of one input: bits, cuts, repeats, numbers, tokens, and a piece of another input."""
        changed = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            start = chance.randint(0, len(changed))
            end = min(len(changed), start + chance.choice((1, 1, 2, 4, 8, 32)))
            match chance.randrange(7):
                case 0 if start < len(changed):
                    changed[start] ^= 1 << chance.randrange(8)
                case 1:
                    del changed[start:end]
                case 2:
                    changed[end:end] = changed[start:end] * chance.choice((1, 2, 70))
                case 3:
                    changed[start:start] = chance.choice(self.tokens)
                case 4:
                    changed[start:end] = chance.choice(self.tokens)
                case 5:
                    changed[start:end] = chance.choice((b"\0", b"\xff", b"\x7f", b"\x80")) * (end - start)
                case _:
                    other = chance.choice(others)
                    place = chance.randrange(len(other)) if other else 0
                    changed[start:end] = other[place : place + chance.randint(1, 64)]
        return bytes(changed[: self.longest])

    def by_mutation(self, target: str, seconds: float, seed: int, into: Path) -> bool:
        """Our own loop; whether nothing broke. It keeps inputs that ended in a way not seen before, and goes on from them too."""
        chance, pool, attack = random.Random(seed), self.seeds(target), self.targets[target]
        ends: Counter[str] = Counter()
        until, tried = time.monotonic() + seconds, 0
        fresh = list(pool)
        while time.monotonic() < until:
            data = fresh.pop() if fresh else self.mutated(chance.choice(pool), pool, chance)
            tried += 1
            try:
                end = attack(data)
            except Exception as fault:
                kept = into / f"broken-{target}-{seed}-{tried}"
                kept.write_bytes(data)
                print(f"{target}: {kept}: {type(fault).__name__}: {fault}", file=sys.stderr)
                return False
            if not ends[end]:
                pool.append(data)
            ends[end] += 1
        print(f"{target}: {tried:,} runs by mutation (no atheris), seed {seed}; {len(ends)} ways to end, nothing broke", flush=True)
        return True

    def by_coverage(self, target: str, seconds: float, seed: int, into: Path) -> bool:
        """atheris, in a process of its own, since it ends the process that it runs in; whether nothing broke."""
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            corpus, words = Path(folder, "corpus"), Path(folder, "words")
            corpus.mkdir()
            for number, data in enumerate(self.seeds(target)):
                (corpus / str(number)).write_bytes(data)
            escaped = ("".join(map(r"\x{:02x}".format, token)) for token in self.tokens)
            words.write_text("".join(f'"{token}"\n' for token in escaped))
            prefix = f"-artifact_prefix={into.resolve()}/broken-{target}-"
            options = [f"-max_total_time={int(seconds)}", f"-seed={seed}", f"-dict={words}", prefix]
            bounds = [f"-max_len={self.longest}", "-timeout=20", "-rss_limit_mb=1024", "-verbosity=0", "-print_final_stats=1"]
            command = [sys.executable, "-c", CHILD, self.module, target, *options, *bounds, str(corpus)]
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
        said = ended.stdout + ended.stderr
        stats = dict(STATISTIC.findall(said))
        if ended.returncode or not int(stats.get("number_of_executed_units", 0)):
            print(f"{target}: atheris ended with {ended.returncode}:\n{said[-4000:]}", file=sys.stderr)
            return False
        runs, found = int(stats["number_of_executed_units"]), int(stats["new_units_added"])
        print(f"{target}: {runs:,} runs by atheris, seed {seed}; {found:,} inputs reached something new, nothing broke", flush=True)
        return True

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run the command line: 0 when nothing broke, 1 otherwise."""
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}", description=self.about)
        parser.add_argument("--target", choices=self.targets, action="append", help="only this one; may be given again (all of them)")
        parser.add_argument("--seconds", type=float, default=60.0, help="how long each target has (60)")
        parser.add_argument("--seed", type=int, default=1, help="the same seed tries the same mutations (1)")
        parser.add_argument("--into", type=Path, default=Path(), help="where an input that breaks something is kept (.)")
        parser.add_argument("--input", type=Path, help="only run this kept input of the target again")
        options = parser.parse_args(arguments)
        chosen: list[str] = options.target or list(self.targets)
        if options.input is not None:
            if len(chosen) != 1:
                parser.error("--input needs one --target")
            print(self.targets[chosen[0]](options.input.read_bytes()))
            return 0
        way = self.by_coverage if importlib.util.find_spec("atheris") else self.by_mutation
        sound = [way(target, options.seconds, options.seed, options.into) for target in chosen]
        return int(not all(sound))


#: What runs inside atheris: it measures the bytecode of what is imported within its block.
CHILD: Final = f"""
import importlib
import sys
import atheris
with atheris.instrument_imports(include=["{__package__.rpartition(".")[0]}.machines"]):
    attack = importlib.import_module(sys.argv.pop(1)).TARGETS[sys.argv.pop(1)]
def run(data):
    attack(data)
atheris.Setup(sys.argv, run)
atheris.Fuzz()
"""
