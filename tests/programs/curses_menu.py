"""A plain curses program: a menu of three lines, moved in with the arrow keys, chosen with Enter or the mouse. It has no probe.

It writes the chosen line and each pointer event at the bottom, and ends with q.
"""

from __future__ import annotations

import curses

ITEMS = ("Open the valve", "Close the valve", "Żółty 中文 zawór")


def main(screen: curses.window) -> None:
    curses.curs_set(0)
    curses.mousemask(curses.ALL_MOUSE_EVENTS)
    curses.mouseinterval(0)
    curses.start_color()
    curses.use_default_colors()
    curses.init_pair(1, curses.COLOR_BLACK, curses.COLOR_GREEN)
    screen.timeout(100)  # a SIGWINCH between curses' own look at it and its read would else wait for the next key
    chosen, said = 0, ""
    while True:
        screen.erase()
        screen.addstr(0, 0, "Valves", curses.A_BOLD | curses.A_UNDERLINE)
        for number, item in enumerate(ITEMS):
            screen.addstr(2 + number, 2, item, curses.color_pair(1) if number == chosen else curses.A_NORMAL)
        height, width = screen.getmaxyx()
        screen.addstr(height - 1, 0, f"{width}x{height} {said}"[: width - 1])
        screen.refresh()
        key = screen.getch()
        if key == ord("q"):
            return
        if key in (curses.KEY_UP, curses.KEY_DOWN):
            chosen = (chosen + (1 if key == curses.KEY_DOWN else -1)) % len(ITEMS)
        elif key in (curses.KEY_ENTER, ord("\n")):
            said = f"chose {ITEMS[chosen]}"
        elif key == curses.KEY_MOUSE:
            _, column, row, _, buttons = curses.getmouse()
            said = f"mouse {column},{row} {buttons:#x}"
            if 0 <= row - 2 < len(ITEMS):
                chosen = row - 2


if __name__ == "__main__":
    curses.wrapper(main)
