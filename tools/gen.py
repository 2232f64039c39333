"""The entry of `make gen`: schemas and charts in; generated/, docs/lifecycles/, the reference pages and tests/vectors/generated/ out.

    python -m triptych.tools.gen [PROTOCOL…] [--out FOLDER | --check]

The pipeline of one protocol does not depend on the others. The same schemas give the same bytes, on every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import gen_transitions, schema_style
from .bundle import REPOSITORY, SCHEMAS, SchemaError, load
from .gen_cases import cases
from .gen_models import models
from .gen_reference import reference
from .gen_validators import validators
from .gen_vocabulary import vocabulary


def texts(protocol: str, schemas: Path = SCHEMAS) -> dict[str, str]:
    """What comes from the schemas of one protocol: each file's path below the repository and its text. Raises SchemaError."""
    bundle = load(protocol, schemas)
    schema_style.check(bundle)
    return {
        f"generated/{protocol}/models.py": models(bundle),
        f"generated/{protocol}/validators.py": validators(bundle),
        f"generated/{protocol}/vocabulary.py": vocabulary(bundle),
        f"tests/vectors/generated/{protocol}.json": cases(bundle),
        f"docs/protocols/{protocol}-reference.md": reference(bundle, schemas),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: 0 when all is written (or current, with --check), 1 otherwise; one refused protocol keeps no other back."""
    parser = argparse.ArgumentParser(prog="python -m triptych.tools.gen", description="Write everything that is generated.")
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", help="only these (all by default, and then what the charts give too)")
    parser.add_argument("--out", type=Path, default=REPOSITORY, help="write below this folder instead of the repository")
    parser.add_argument("--check", action="store_true", help="write nothing; say which files are not what would be written")
    options = parser.parse_args(arguments)
    failed = False
    for name, made in _parts(options.protocols):
        if isinstance(made, Exception):
            failed = True
            print(made, file=sys.stderr)
        elif options.check:
            stale = [path for path, text in made.items() if not _is_current(options.out / path, text)]
            failed = failed or bool(stale)
            for path in stale:
                print(f"{path} is not what its source gives: run `make gen`", file=sys.stderr)
        else:
            _write(options.out, made)
            print(f"{name}: {len(made)} files")
    return int(failed)


def _parts(protocols: Sequence[str]) -> Iterator[tuple[str, dict[str, str] | Exception]]:
    for protocol in protocols or sorted(path.name for path in SCHEMAS.iterdir() if path.is_dir()):
        try:
            yield protocol, texts(protocol, SCHEMAS)
        except (SchemaError, RuntimeError) as error:
            yield protocol, error
    if not protocols:
        yield "lifecycles", gen_transitions.texts()


def _is_current(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def _write(out: Path, made: dict[str, str]) -> None:
    for name, text in made.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
