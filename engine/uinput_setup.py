"""What `triptych-desklink setup-input` prints: whether this user may make virtual input devices, and how an administrator allows it."""

from __future__ import annotations

import os

DEVICE = "/dev/uinput"
GROUP = "desklink-input"
RULES = "70-desklink-uinput.rules"

READY = f"""{DEVICE} is writable: sessions of the desktop portal can have control.
"""

NOT_READY = f"""{DEVICE} is not writable by this user.

Only sessions of the desktop portal (Wayland) need it. A session on an X display makes its input through XTEST, and a session whose video is
fed hands its input to the program that feeds it: both have control without this.

To allow it, an administrator creates a group that may use this one device, and nothing else, and puts the user into it. Nothing is
changed by this command.

  1. Save this line as /etc/udev/rules.d/{RULES}

     SUBSYSTEM=="misc", KERNEL=="uinput", GROUP="{GROUP}", MODE="0660", OPTIONS+="static_node=uinput"

  2. Run as root

     groupadd --system {GROUP}
     usermod --append --groups {GROUP} USER
     udevadm control --reload
     udevadm trigger --name-match=uinput

  3. Log in anew.

A program in that group can type into every window of the machine. Put nobody into it who should not.
"""


def instructions(device: str = DEVICE) -> str:
    """The text for this machine."""
    return READY if os.access(device, os.W_OK) else NOT_READY
