// Mouse, touch and keyboard actions on a canvas, common to all pages.

const CLICK_PIXELS = 4;
const WHEEL_RATE = 0.0016;
const PINCH_RATE = 0.01;
const LINE_PIXELS = 16;
const DOUBLE_CLICK_FACTOR = 2;
const KEY_FACTOR = 1.6;

// Position of an event in an element, CSS pixels.
export function placeIn(element, event) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

// A page implements: isReady, isOnThing, kindOf, zoom, pan, pinch, pointAgain, showBox, onBox and
// keys.
export class CanvasGestures {
  constructor(canvas, picture) {
    this.canvas = canvas;
    this.picture = picture;
    this.pointers = new Map();
    this.drag = null;
    const listen = (name, handle, options) =>
      canvas.addEventListener(name, (event) => handle.call(this, event), options);
    listen("pointerdown", this._onDown);
    listen("pointermove", this._onMove);
    listen("pointerup", this._onUp);
    listen("pointercancel", this._onCancel);
    listen("pointerleave", this._onLeave);
    listen("dblclick", this._onDoubleClick);
    listen("wheel", this._onWheel, { passive: false });
    listen("keydown", this._onKey);
    listen("keyup", this._showCursor);
    this._showCursor({ shiftKey: false });
  }

  // The kind of a drag that starts here: "pan", "box" or one of the page.
  kindOf(place, event) {
    return event.shiftKey ? "box" : "pan";
  }

  // Continue a drag to a position.
  dragTo(drag, place) {
    if (drag.kind === "box") {
      this.showBox(drag.start, place);
    } else {
      this.pan(place[0] - drag.last[0], place[1] - drag.last[1]);
      this.pointAgain(...place);
    }
  }

  // Handle a wheel movement, in pixels.
  turnWheel(dx, dy, rate, place) {
    this.zoom(Math.exp(-dy * rate), ...place);
  }

  _showCursor(event) {
    let cursor = "grab";
    if (this.drag !== null) {
      cursor = this.drag.kind === "box" ? "crosshair" : "grabbing";
    } else if (event.shiftKey) {
      cursor = "crosshair";
    } else if (this.isOnThing) {
      cursor = "pointer";
    }
    this.canvas.style.cursor = cursor;
  }

  _onDown(event) {
    if (event.button !== 0 || !this.isReady) {
      return;
    }
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const place = placeIn(this.canvas, event);
    this.pointers.set(event.pointerId, place);
    this.drag = { kind: this.kindOf(place, event), start: place, last: place, isMoved: false };
    this._showCursor(event);
  }

  _onMove(event) {
    const place = placeIn(this.canvas, event);
    const { drag, pointers, picture } = this;
    const last = pointers.get(event.pointerId);
    if (last !== undefined) {
      pointers.set(event.pointerId, place);
    }
    if (pointers.size === 2 && last !== undefined) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId);
      this.pinch(last, place, other[1]);
      this.drag = null;
    } else if (drag === null) {
      picture.point(...place);
    } else {
      const far = Math.hypot(place[0] - drag.start[0], place[1] - drag.start[1]);
      drag.isMoved ||= far >= CLICK_PIXELS;
      if (drag.isMoved) {
        this.dragTo(drag, place);
        drag.last = place;
      }
    }
    this._showCursor(event);
  }

  _onUp(event) {
    const wasPinch = this.pointers.size === 2;
    this.pointers.delete(event.pointerId);
    const { drag, picture } = this;
    this.drag = null;
    if (wasPinch && this.pointers.size === 1) {
      const [last] = this.pointers.values(); // the remaining finger pans
      this.drag = { kind: "pan", start: last, last, isMoved: true };
      return;
    }
    const place = placeIn(this.canvas, event);
    if (drag?.kind === "box") {
      picture.showBox(null);
      if (drag.isMoved) {
        this.onBox(drag.start, place);
      }
    } else if (drag?.kind === "pan" && !drag.isMoved && event.detail < 2) {
      picture.click(...place);
    }
    picture.point(...place);
    this._showCursor(event);
  }

  _onCancel(event) {
    this.pointers.delete(event.pointerId);
    this.drag = null;
    this.picture.showBox(null);
  }

  _onLeave(event) {
    if (this.drag === null) {
      this.picture.leave();
    }
    this.pointers.delete(event.pointerId);
  }

  _onDoubleClick(event) {
    const factor = event.shiftKey ? 1 / DOUBLE_CLICK_FACTOR : DOUBLE_CLICK_FACTOR;
    this.zoom(factor, ...placeIn(this.canvas, event));
  }

  _onWheel(event) {
    if (!this.isReady) {
      return;
    }
    event.preventDefault();
    const unit = event.deltaMode === 0 ? 1 : LINE_PIXELS;
    const rate = event.ctrlKey ? PINCH_RATE : WHEEL_RATE;
    const place = placeIn(this.canvas, event);
    this.turnWheel(event.deltaX * unit, event.deltaY * unit, rate, place);
    this.pointAgain(...place);
  }

  _onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.isReady) {
      return;
    }
    const actions = {
      ...this.keys(event.shiftKey),
      "+": () => this.zoom(KEY_FACTOR),
      "=": () => this.zoom(KEY_FACTOR),
      "-": () => this.zoom(1 / KEY_FACTOR),
      _: () => this.zoom(1 / KEY_FACTOR),
      Escape: () => this.picture.escape(),
    };
    if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      event.stopPropagation();
      actions[event.key]();
    }
    this._showCursor(event);
  }
}
