"""Runs the benchmarks: `python benchmarks/run.py [--only NAME] [--json]`. NAME is a benchmark, or a panel for all of it.

Exit code 0 when every chosen benchmark ran, 1 when one was skipped or failed (its line on stderr says why), 2 when none has that name.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent


def load(name: str, as_name: str) -> ModuleType:
    """Load a file of this folder under another module name: `termwright.py` here must not hide the peer of that name."""
    spec = importlib.util.spec_from_file_location(as_name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[as_name] = module
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description="Ours and the peer's, measured in turns; a ratio above 1 means that ours is better.")
    parser.add_argument("--only", metavar="NAME", help="one benchmark (desktop.grab_1080p) or one panel (desktop)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != FOLDER]
    harness = load("harness", "harness")
    panels = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("harness", "run"))
    wanted = [panel for panel in panels if options.only is None or options.only.split(".")[0] == panel]
    benchmarks = [benchmark for panel in wanted for benchmark in load(panel, f"benchmark_{panel}").BENCHMARKS]
    chosen = [benchmark for benchmark in benchmarks if options.only in (None, benchmark.name, benchmark.name.split(".")[0])]
    if not chosen:
        print(f"no benchmark is named {options.only}; there are panels {', '.join(panels)}", file=sys.stderr)
        return 2
    results, failed = [], False
    for benchmark in chosen:
        try:
            result = harness.measure(benchmark)
        except harness.Skip as lacking:
            print(f"{benchmark.name}: skipped: {lacking}", file=sys.stderr)
            failed = True
            continue
        results.append(result)
        if options.json:
            print(result.as_json(), flush=True)
    if results and not options.json:
        print(harness.table(results))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
