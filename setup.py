"""The package map: the repository root is the package `triptych`; the C helpers are cffi modules of the stable ABI."""

import os
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
ROOMS = ("engine", "adapters", "machines", "generated", "native", "tools", "schemas")


def version() -> str:
    for line in (ROOT / "__init__.py").read_text().splitlines():
        if line.startswith("__version__"):
            return line.split('"')[1]
    raise SystemExit("__init__.py names no __version__")


def packages() -> list[str]:
    files = (path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in {".py", ".json"})
    folders = {path.parent.relative_to(ROOT) for path in files}
    return ["triptych", *sorted("triptych." + ".".join(folder.parts) for folder in folders)]


setup(
    version=version(),
    packages=packages(),
    package_dir={"triptych": "."},
    package_data={"triptych": ["py.typed"], "": ["*.json", "*.pyi", "*.jinja2"]},
    # A machine without the X11 headers still gets the protocols and machines: `triptych doctor` says what is missing.
    cffi_modules=[] if os.environ.get("TRIPTYCH_NO_NATIVE") else ["native/linux/build_x11.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
