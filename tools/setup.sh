#!/usr/bin/env bash
# What `make run` and `make test` need: system packages, a virtual environment, the C helpers. Quick when they stand already.
# PYTHON names the interpreter; without it an environment that stands is kept, and python3 makes a new one.
set -euo pipefail
trap 'exit 130' INT
cd "$(dirname "$0")/.."

VENV=.venv
STAMP=$VENV/.triptych-stamp

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }
identity() { "$1" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null; }

if [ -z "${PYTHON:-}" ]; then
    PYTHON=python3
    if identity $VENV/bin/python >/dev/null; then PYTHON=$VENV/bin/python; fi
fi
command -v "$PYTHON" >/dev/null || fail "no $PYTHON here; install Python 3.11 or newer (Debian: apt-get install python3), or run make with PYTHON=/path/to/python3"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$PYTHON" --version) is too old: Triptych needs Python 3.11 or newer; run make with PYTHON=/path/to/python3.11"

# One setup at a time in a checkout: `make run` and `make test` may be started together.
exec 9>".setup.lock"
flock 9
# A changed C source, dependency list or interpreter sets up again; a plain source file never does.
fingerprint() {
    { identity "$PYTHON"
      cat pyproject.toml setup.py constraints.txt tools/setup.sh native/*/*.h native/*/*.c native/*/build_*.py; } | sha256sum | cut -d' ' -f1
}
[ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$(fingerprint)" ] && [ "$(identity $VENV/bin/python)" = "$(identity "$PYTHON")" ] && exit 0
started=$SECONDS

# What is needed from the system. Names differ between releases: each is probed before it is asked for.
PACKAGES=(
    gcc libc6-dev python3-venv python3-dev                                                            # the environment and the C helpers
    libxcb1-dev libxcb-shm0-dev libxcb-damage0-dev libxcb-xfixes0-dev libxcb-xtest0-dev libxcb-randr0-dev libxcb-xkb-dev
    libxcb-xkb1 libxkbcommon-dev libxkbcommon-x11-dev x11-xkb-utils                                   # X11 capture, input, keymaps
    xvfb xauth                                                                                        # private displays
    dbus dbus-daemon at-spi2-core                                                                     # private sessions, accessibility
    python3-gi gir1.2-gtk-3.0 fonts-dejavu-core                                                       # the program that is shown and driven
    gir1.2-gtk-4.0 python3-pyqt5 chromium xterm zenity nodejs                                         # real programs for the tests
    sway wtype foot xclip x11-utils x11-xserver-utils                                                 # and what their desktops are made of
    libvpx-dev libyuv-dev ffmpeg coturn                                                               # pictures, and the peers that they are tested with
    graphviz                                                                                          # diagrams as SVG
)
if command -v dpkg-query >/dev/null; then
    missing=()
    for package in "${PACKAGES[@]}"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        if [ "$(id -u)" = 0 ]; then SUDO=(); elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then SUDO=(sudo -n); else
            fail "these system packages are missing; install them once with: sudo apt-get install ${missing[*]}"
        fi
        say "system packages: ${missing[*]}"
        "${SUDO[@]}" apt-get update -qq
        available=() unknown=()
        for package in "${missing[@]}"; do
            candidate=$(apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')
            if [ -n "$candidate" ] && [ "$candidate" != "(none)" ]; then available+=("$package"); else unknown+=("$package"); fi
        done
        if [ ${#unknown[@]} -gt 0 ]; then say "this release has no package of these names; going on without: ${unknown[*]}"; fi
        if [ ${#available[@]} -gt 0 ]; then
            DEBIAN_FRONTEND=noninteractive "${SUDO[@]}" apt-get install -y -qq --no-install-recommends "${available[@]}" >&2 ||
                fail "apt-get could not install: ${available[*]}"
        fi
    fi
fi

if [ "$(identity $VENV/bin/python)" != "$(identity "$PYTHON")" ] || ! $VENV/bin/python -c 'import pip' 2>/dev/null; then
    say "virtual environment in $VENV, of $("$PYTHON" --version)"
    base=$("$PYTHON" -c 'import sys; print(getattr(sys, "_base_executable", sys.executable))')
    rm -rf $VENV
    "$base" -m venv $VENV || fail "python -m venv failed; on Debian: apt-get install python3-venv"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Quiet, but never silent: every few seconds a line says what pip is doing. Its own words are shown when it fails.
pip_install() {
    PIP_DISABLE_PIP_VERSION_CHECK=1 $VENV/bin/python -m pip install -c constraints.txt "$@" >"$log" 2>&1 9>&- &
    local pip=$! waited=0
    trap 'kill '"$pip"' 2>/dev/null || true; rm -f "$log"' EXIT
    while kill -0 $pip 2>/dev/null; do
        sleep 0.5
        waited=$((waited + 1))
        if [ $((waited % 10)) = 0 ]; then
            printf '   %3d s  %s\n' $((SECONDS - started)) "$(grep -E '^(Collecting|Building|Installing|Downloading|Preparing)' "$log" | tail -n 1 | cut -c1-100)" >&2
        fi
    done
    wait $pip || { tail -n 40 "$log" >&2; fail "pip install $* failed"; }
}
say "Python packages and C helpers (about a minute the first time)"
pip_install --upgrade pip setuptools wheel cffi
pip_install --no-build-isolation -e '.[dev]'
$VENV/bin/python -c 'import triptych.native.linux._x11' ||
    fail "the X11 helper was not built; its compiler messages: $VENV/bin/python setup.py build_ext --inplace"
fingerprint >"$STAMP"
say "set up in $((SECONDS - started)) s"
