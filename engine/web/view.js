"use strict";
// Where the picture stands: fitted or pixel by pixel, zoomed and moved; and which pixel of the desktop is under a point of the window.

class View {
  /** `layers` all show the picture, in the desktop's own pixels. */
  constructor(stage, ...layers) {
    [this.stage, this.layers] = [stage, layers];
    this.surface = { width: 1280, height: 720 };
    this.fitted = true;
    this.reset();
    new ResizeObserver(() => this.place()).observe(stage);
  }

  set geometry({ width, height }) {
    this.surface = { width, height };
    for (const { style } of this.layers) [style.width, style.height] = [`${width}px`, `${height}px`];
    this.place();
  }

  fit(fitted) {
    this.fitted = fitted;
    this.reset();
    this.place();
  }

  reset() {
    this.zoom = 1;
    this.pan = { x: 0, y: 0 }; // of the picture's centre from the window's
  }

  get size() {
    return { width: this.stage.clientWidth, height: this.stage.clientHeight };
  }

  get scale() {
    const { width, height } = this.size;
    const base = this.fitted ? Math.min(width / this.surface.width, height / this.surface.height) : 1 / devicePixelRatio;
    return base * this.zoom;
  }

  /** How far the picture reaches beyond the window, each way. */
  get over() {
    const { width, height } = this.size;
    const scale = this.scale;
    return { x: Math.max(0, (this.surface.width * scale - width) / 2), y: Math.max(0, (this.surface.height * scale - height) / 2) };
  }

  place() {
    const { width, height } = this.size;
    const scale = this.scale;
    const over = this.over;
    this.pan = { x: clamp(this.pan.x, -over.x, over.x), y: clamp(this.pan.y, -over.y, over.y) };
    this.left = (width - this.surface.width * scale) / 2 + this.pan.x;
    this.top = (height - this.surface.height * scale) / 2 + this.pan.y;
    for (const { style } of this.layers) {
      style.transform = `translate(${this.left}px, ${this.top}px) scale(${scale})`;
      style.imageRendering = scale * devicePixelRatio >= 2 ? "pixelated" : "auto";
    }
  }

  /** Move the picture; what is left of the way where its edge was reached. */
  move(dx, dy) {
    const before = this.pan;
    this.pan = { x: before.x + dx, y: before.y + dy };
    this.place();
    return { x: dx - (this.pan.x - before.x), y: dy - (this.pan.y - before.y) };
  }

  /** Zoom about a point of the window. */
  zoomAt(factor, clientX, clientY) {
    const zoom = clamp(this.zoom * factor, 1, 6);
    const box = this.stage.getBoundingClientRect();
    const grown = zoom / this.zoom - 1;
    const centre = { x: box.left + box.width / 2 + this.pan.x, y: box.top + box.height / 2 + this.pan.y };
    this.zoom = zoom;
    this.pan = { x: this.pan.x - (clientX - centre.x) * grown, y: this.pan.y - (clientY - centre.y) * grown };
    this.place();
  }

  /** A picture larger than the window shows what is about the pointer. */
  follow(clientX, clientY) {
    const { x, y } = this.over;
    if (!x && !y) return;
    const box = this.stage.getBoundingClientRect();
    const share = (at, from, length) => clamp(((at - from) / length - 0.5) * 1.15, -0.5, 0.5); // the very edge is hard to reach
    this.pan = { x: -2 * x * share(clientX, box.left, box.width), y: -2 * y * share(clientY, box.top, box.height) };
    this.place();
  }

  /** The pixel of the desktop there, clamped to it; `inside` says whether it needed no clamping. */
  at(clientX, clientY) {
    const box = this.stage.getBoundingClientRect();
    const x = (clientX - box.left - this.left) / this.scale;
    const y = (clientY - box.top - this.top) / this.scale;
    const { width, height } = this.surface;
    return {
      x: clamp(Math.floor(x), 0, width - 1), y: clamp(Math.floor(y), 0, height - 1), inside: x >= 0 && y >= 0 && x < width && y < height,
    };
  }
}

function clamp(value, least, most) {
  return Math.min(Math.max(value, least), most);
}
