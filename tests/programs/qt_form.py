"""A small Qt 5 form for the tests; run with Debian's own /usr/bin/python3: `qt_form.py [--title TITLE]`.

It writes `ready` to standard output when it is shown, and the name of each widget that gains the focus. Standard input takes lines `focus
NAME` (User, Password, Save) and `title TEXT`; its end quits.
"""

from __future__ import annotations

import sys

from PyQt5.QtCore import QSocketNotifier, QTimer
from PyQt5.QtWidgets import QApplication, QFormLayout, QLineEdit, QPushButton, QWidget


def main() -> None:
    application = QApplication(["qt-form"])
    window = QWidget()
    window.resize(480, 240)
    window.setWindowTitle(sys.argv[sys.argv.index("--title") + 1] if "--title" in sys.argv else "Qt form")
    user, password, save = QLineEdit(), QLineEdit(), QPushButton("Save")
    password.setEchoMode(QLineEdit.Password)
    layout = QFormLayout(window)
    widgets = {"User": user, "Password": password, "Save": save}
    for name, widget in widgets.items():
        layout.addRow(name, widget)

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def focused(_before: QWidget, now: QWidget) -> None:
        for name, widget in widgets.items():
            if widget is now:
                say(name)

    def commanded() -> None:
        verb, _, rest = sys.stdin.readline().strip().partition(" ")
        if not verb:
            application.quit()
        elif verb == "focus":
            widgets[rest].setFocus()
        elif verb == "title":
            window.setWindowTitle(rest)

    application.focusChanged.connect(focused)
    notifier = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Read)
    notifier.activated.connect(commanded)
    window.show()
    QTimer.singleShot(0, lambda: say("ready"))
    application.exec_()


if __name__ == "__main__":
    main()
