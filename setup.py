"""The package map: the repository root is the package `triptych`; the C helpers are cffi modules of the stable ABI."""

import os
import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
ROOMS = ("engine", "adapters", "machines", "generated", "native", "schemas")


def version() -> str:
    for line in (ROOT / "__init__.py").read_text().splitlines():
        if line.startswith("__version__"):
            return line.split('"')[1]
    raise SystemExit("__init__.py names no __version__")


def packages() -> list[str]:
    files = (path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in {".py", ".json"})
    folders = {path.parent.relative_to(ROOT) for path in files}
    return ["triptych", *sorted("triptych." + ".".join(folder.parts) for folder in folders)]


def helpers() -> list[str]:
    """The C helpers to build here; the one of libvpx only where libvpx is."""
    if os.environ.get("TRIPTYCH_NO_NATIVE"):
        return []
    vp9 = "native/common/build_vp9.py"
    return ["native/linux/build_x11.py:ffi", *([f"{vp9}:ffi"] if runpy.run_path(vp9)["has_libvpx"]() else [])]


class Modules(build_py):
    """Leaves out what stands beside the package only because the root is the package."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        found = super().find_package_modules(package, package_dir)
        return [module for module in found if (package, module[1]) != ("triptych", "setup")]


class Helpers(build_ext):
    """A machine without a compiler or the X11 headers still gets all the rest; `triptych doctor` says what is missing.

    In a checkout a helper that does not build is an error.
    """

    def run(self) -> None:
        for extension in self.extensions:
            extension.optional = not self.inplace
        super().run()

    def build_extension(self, ext: object) -> None:
        try:
            super().build_extension(ext)
        except Exception:
            self.warn("a C helper cannot be built, so no desktop is captured, driven or sent: `triptych doctor` names what is missing")
            raise


setup(
    version=version(),
    packages=packages(),
    package_dir={"triptych": "."},
    package_data={
        "triptych": ["py.typed"],
        "": ["*.json", "*.pyi"],
        "triptych.adapters.collector.companions.browser": ["*.js", "*.html", "*.css", "icons/*.png"],
        "triptych.adapters.collector.companions.vscode": ["*.js", "*.md", "*.png"],
        "triptych.engine.web": ["*.html", "*.css", "*.js"],
    },
    cmdclass={"build_py": Modules, "build_ext": Helpers},
    cffi_modules=helpers(),
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
