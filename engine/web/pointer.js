"use strict";
// Mouse, pen and fingers become pointer and wheel messages; fingers also move and zoom the picture.

const SLOP = 6; // pixels that a finger may tremble
const HOLD_MS = 500;
const CROWDED = 4096; // bytes under way, above which only the newest place of the pointer is worth sending
const BUTTONS = [1, 2, 3];
const NOTCH = 100; // pixels of one wheel click

class Pointer {
  /** `keys.around(send)` sends with the modifiers that are down; `touched()` is told of each press. */
  constructor(session, view, keys, touched) {
    [this.session, this.view, this.keys, this.touched] = [session, view, keys, touched];
    this.fingers = new Map();
    this.down = new Set();
    this.wheel = { x: 0, y: 0 };
    const stage = view.stage;
    const listen = (name, take) => stage.addEventListener(name, take, { passive: false });
    listen("pointerdown", (event) => this.pressed(event));
    listen("pointermove", (event) => this.moved(event));
    listen("pointerup", (event) => this.lifted(event));
    listen("pointercancel", (event) => this.cancelled(event));
    listen("contextmenu", (event) => event.preventDefault());
    listen("wheel", (event) => this.wheeled(event));
    for (const name of ["touchstart", "touchmove", "gesturestart", "dragstart", "selectstart"]) {
      listen(name, (event) => event.target.closest("button, #card, #toasts") || event.preventDefault());
    }
  }

  say(phase, { x, y }, button = 1) {
    return this.session.say({ kind: "pointer", phase, x, y, button });
  }

  moveTo(place) {
    this.place = place;
    if (this.frame) return;
    const send = () => {
      this.frame = 0;
      if (this.session.waiting > CROWDED) this.frame = requestAnimationFrame(send);
      else if (this.place) this.say("move", this.place);
    };
    this.frame = requestAnimationFrame(send);
  }

  press(place, button) {
    this.place = null; // the press says where
    this.keys.hold();
    if (this.say("down", place, button)) this.down.add(button);
  }

  release(place, button) {
    this.place = null;
    if (this.down.delete(button)) this.say("up", place, button);
    if (!this.down.size) this.keys.used();
  }

  click(place, button = 1) {
    this.say("move", place);
    this.press(place, button);
    this.release(place, button);
  }

  /** Nothing stays pressed. */
  letGo() {
    clearTimeout(this.holding);
    this.fingers.clear();
    if (this.down.size) this.session.say({ kind: "release_all" });
    this.down.clear();
  }

  // Mouse and pen

  pressed(event) {
    if (event.target.closest("button, #card")) return;
    event.preventDefault();
    this.touched(event);
    this.view.stage.setPointerCapture(event.pointerId);
    if (event.pointerType === "touch") return this.fingerDown(event);
    const place = this.view.at(event.clientX, event.clientY);
    const button = BUTTONS[event.button];
    if (button && place.inside) this.press(place, button);
  }

  moved(event) {
    if (event.pointerType === "touch") return this.fingerMoved(event);
    if (!this.view.fitted || this.view.zoom > 1) this.view.follow(event.clientX, event.clientY);
    const place = this.view.at(event.clientX, event.clientY);
    // A second button of a mouse comes as a move.
    if (event.button >= 0 && BUTTONS[event.button]) {
      const pressed = event.buttons & [1, 4, 2][event.button];
      if (pressed && place.inside) this.press(place, BUTTONS[event.button]);
      else if (!pressed) this.release(place, BUTTONS[event.button]);
    } else if (place.inside || this.down.size) this.moveTo(place);
  }

  lifted(event) {
    if (event.pointerType === "touch") return this.fingerUp(event);
    const button = BUTTONS[event.button];
    if (button) this.release(this.view.at(event.clientX, event.clientY), button);
  }

  cancelled(event) {
    if (event.pointerType === "touch") this.fingers.delete(event.pointerId);
    this.letGo();
  }

  wheeled(event) {
    event.preventDefault();
    const unit = [1, NOTCH / 3, NOTCH * 8][event.deltaMode];
    // Two fingers that pinch on a touchpad come as a wheel with a Control key that nobody holds: they zoom the picture.
    const pinch = event.ctrlKey && !this.keys.controls;
    if (pinch) return this.view.zoomAt(Math.exp((-event.deltaY * unit) / NOTCH), event.clientX, event.clientY);
    const place = this.view.at(event.clientX, event.clientY);
    if (!place.inside) return;
    this.moveTo(place); // the picture may have moved under a mouse that did not
    this.scroll((event.deltaX * unit) / NOTCH, (event.deltaY * unit) / NOTCH);
  }

  /** Wheel clicks, gathered to one message for each picture of the window. */
  scroll(dx, dy) {
    this.wheel.x += dx;
    this.wheel.y += dy;
    this.rolling ||= requestAnimationFrame(() => {
      this.rolling = 0;
      const [x, y] = [clamp(this.wheel.x, -20, 20), clamp(this.wheel.y, -20, 20)];
      this.wheel = { x: 0, y: 0 };
      this.keys.hold();
      this.session.say({ kind: "wheel", dx: x, dy: y });
      this.keys.used();
    });
  }

  // Fingers: one points, two move, zoom and scroll

  fingerDown(event) {
    const finger = { x: event.clientX, y: event.clientY, from: { x: event.clientX, y: event.clientY }, at: performance.now() };
    this.fingers.set(event.pointerId, finger);
    clearTimeout(this.holding);
    if (this.fingers.size > 1) {
      if (this.gesture === "drag") this.session.say({ kind: "pointer", phase: "cancel", x: 0, y: 0 });
      this.down.clear();
      this.gesture = "two";
      this.span = 0;
      this.scrolled = false;
      return;
    }
    this.gesture = "tap";
    this.holding = setTimeout(() => {
      if (this.gesture !== "tap") return;
      this.gesture = "done";
      navigator.vibrate?.(15);
      this.ripple(finger);
      this.click(this.view.at(finger.x, finger.y), 3);
    }, HOLD_MS);
  }

  fingerMoved(event) {
    const finger = this.fingers.get(event.pointerId);
    if (!finger) return;
    const [dx, dy] = [event.clientX - finger.x, event.clientY - finger.y];
    const far = Math.hypot(event.clientX - finger.from.x, event.clientY - finger.from.y) > SLOP;
    if (this.gesture === "two") {
      if (far) this.scrolled = true;
      if (this.scrolled && this.fingers.size === 2) this.twoMoved(finger, dx, dy, event);
    }
    [finger.x, finger.y] = [event.clientX, event.clientY];
    if (this.gesture === "tap" && far) {
      clearTimeout(this.holding);
      this.gesture = "drag";
      const from = this.view.at(finger.from.x, finger.from.y);
      this.say("move", from);
      this.press(from, 1);
    }
    if (this.gesture === "drag") this.moveTo(this.view.at(finger.x, finger.y));
  }

  twoMoved(finger, dx, dy, event) {
    const other = [...this.fingers.values()].find((each) => each !== finger);
    const before = Math.hypot(finger.x - other.x, finger.y - other.y);
    const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
    this.span += after - before;
    if (Math.abs(this.span) > 24 && before > 0) {
      this.view.zoomAt(after / before, (event.clientX + other.x) / 2, (event.clientY + other.y) / 2);
    }
    // Each of two fingers moves it by half. Where the picture's edge is reached, the desktop scrolls.
    const rest = this.view.move(dx / 2, dy / 2);
    if (Math.abs(this.span) <= 24) this.scroll((-rest.x * 2) / NOTCH, (-rest.y * 2) / NOTCH);
  }

  fingerUp(event) {
    const finger = this.fingers.get(event.pointerId);
    this.fingers.delete(event.pointerId);
    clearTimeout(this.holding);
    if (!finger) return;
    const place = this.view.at(finger.x, finger.y);
    if (this.gesture === "tap" && place.inside) {
      this.ripple(finger);
      this.click(place);
    } else if (this.gesture === "drag") this.release(place, 1);
    else if (this.gesture === "two" && !this.scrolled && !this.fingers.size && performance.now() - finger.at < HOLD_MS) {
      this.ripple(finger);
      this.click(this.view.at(finger.from.x, finger.from.y), 3);
    }
    if (!this.fingers.size) this.gesture = null;
  }

  ripple({ x, y }) {
    const box = this.view.stage.getBoundingClientRect();
    const mark = document.getElementById("ripple");
    mark.style.left = `${x - box.left}px`;
    mark.style.top = `${y - box.top}px`;
    mark.classList.remove("go");
    void mark.offsetWidth; // begins the animation anew
    mark.classList.add("go");
  }
}
