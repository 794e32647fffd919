// What a person does to the canvas with mouse, fingers and keys, as calls to the picture.

const CLICK_PIXELS = 4;
const WHEEL_RATE = 0.0016;
const PINCH_RATE = 0.01;
const LINE_PIXELS = 16;
const DOUBLE_CLICK_FACTOR = 2;
const KEY_FACTOR = 1.6;
const KEY_SHARE = 0.1;
const FAR_KEY_SHARE = 0.5;

export class Gestures {
  constructor(canvas, picture) {
    this.canvas = canvas;
    this.picture = picture;
    this.pointers = new Map();
    this.drag = null;
    const listen = (name, take, options) =>
      canvas.addEventListener(name, (event) => take.call(this, event), options);
    listen("pointerdown", this._takeDown);
    listen("pointermove", this._takeMove);
    listen("pointerup", this._takeUp);
    listen("pointercancel", this._takeCancel);
    listen("pointerleave", this._takeLeave);
    listen("dblclick", this._takeDoubleClick);
    listen("wheel", this._takeWheel, { passive: false });
    listen("keydown", this._takeKey);
    listen("keyup", this._showCursor);
    this._showCursor({ shiftKey: false });
  }

  _place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  _showCursor(event) {
    const { drag, picture } = this;
    let cursor = "grab";
    if (drag !== null) {
      cursor = drag.kind === "box" ? "crosshair" : "grabbing";
    } else if (event.shiftKey) {
      cursor = "crosshair";
    } else if (picture.isOnMap || picture.hasNode) {
      cursor = "pointer";
    }
    this.canvas.style.cursor = cursor;
  }

  _takeDown(event) {
    if (event.button !== 0) {
      return;
    }
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const [x, y] = this._place(event);
    this.pointers.set(event.pointerId, [x, y]);
    const isOnMap = this.picture.map.contains(x, y);
    const kind = isOnMap ? "map" : event.shiftKey ? "box" : "pan";
    this.drag = { kind, start: [x, y], last: [x, y], isMoved: false };
    if (isOnMap) {
      this.picture.centreFromMap(x, y);
    }
    this._showCursor(event);
  }

  _takeMove(event) {
    const place = this._place(event);
    if (this.pointers.size === 2 && this.pointers.has(event.pointerId)) {
      this._pinch(event.pointerId, place);
      return;
    }
    const { drag, picture } = this;
    if (drag === null) {
      picture.point(...place);
      this._showCursor(event);
      return;
    }
    const far = Math.hypot(place[0] - drag.start[0], place[1] - drag.start[1]);
    drag.isMoved ||= far >= CLICK_PIXELS;
    if (!drag.isMoved) {
      return;
    }
    if (drag.kind === "map") {
      picture.centreFromMap(...place);
    } else if (drag.kind === "box") {
      picture.showBox([...drag.start, ...place]);
    } else {
      picture.move(picture.view.panned(place[0] - drag.last[0], place[1] - drag.last[1]));
      picture.pointAgain(...place);
    }
    drag.last = place;
    this.pointers.set(event.pointerId, place);
  }

  _pinch(id, place) {
    const [first, second] = [...this.pointers.keys()];
    const other = this.pointers.get(id === first ? second : first);
    const last = this.pointers.get(id);
    const before = Math.hypot(last[0] - other[0], last[1] - other[1]);
    const after = Math.hypot(place[0] - other[0], place[1] - other[1]);
    const { picture } = this;
    const moved = picture.view.panned((place[0] - last[0]) / 2, (place[1] - last[1]) / 2);
    const middle = [(place[0] + other[0]) / 2, (place[1] + other[1]) / 2];
    picture.move(moved.zoomed(after / Math.max(before, 1), ...middle));
    this.pointers.set(id, place);
    this.drag = null;
  }

  _takeUp(event) {
    this.pointers.delete(event.pointerId);
    const { drag, picture } = this;
    this.drag = null;
    const place = this._place(event);
    if (drag !== null && drag.kind === "box") {
      picture.showBox(null);
      if (drag.isMoved) {
        picture.selectBox([...drag.start, ...place]);
      }
    } else if (drag !== null && drag.kind === "pan" && !drag.isMoved && !isSecondClick(event)) {
      picture.click(...place);
    }
    picture.point(...place);
    this._showCursor(event);
  }

  _takeCancel(event) {
    this.pointers.delete(event.pointerId);
    this.drag = null;
    this.picture.showBox(null);
  }

  _takeLeave(event) {
    if (this.drag === null) {
      this.picture.leave();
    }
    this.pointers.delete(event.pointerId);
  }

  _takeDoubleClick(event) {
    const place = this._place(event);
    if (!this.picture.map.contains(...place)) {
      const factor = event.shiftKey ? 1 / DOUBLE_CLICK_FACTOR : DOUBLE_CLICK_FACTOR;
      this.picture.move(this.picture.view.zoomed(factor, ...place));
    }
  }

  _takeWheel(event) {
    event.preventDefault();
    const { picture } = this;
    if (picture.view === null) {
      return;
    }
    const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaY * LINE_PIXELS;
    const factor = Math.exp(-pixels * (event.ctrlKey ? PINCH_RATE : WHEEL_RATE));
    picture.move(picture.view.zoomed(factor, ...this._place(event)));
    picture.pointAgain(...this._place(event));
  }

  _takeKey(event) {
    const { picture } = this;
    if (event.ctrlKey || event.metaKey || event.altKey || picture.view === null) {
      return;
    }
    const { view } = picture;
    const share = event.shiftKey ? FAR_KEY_SHARE : KEY_SHARE;
    const [dx, dy] = [share * view.width, share * view.height];
    const actions = {
      ArrowLeft: () => picture.move(view.panned(dx, 0)),
      ArrowRight: () => picture.move(view.panned(-dx, 0)),
      ArrowUp: () => picture.move(view.panned(0, dy)),
      ArrowDown: () => picture.move(view.panned(0, -dy)),
      "+": () => picture.move(view.zoomed(KEY_FACTOR)),
      "=": () => picture.move(view.zoomed(KEY_FACTOR)),
      "-": () => picture.move(view.zoomed(1 / KEY_FACTOR)),
      _: () => picture.move(view.zoomed(1 / KEY_FACTOR)),
      0: () => picture.fit(),
      Home: () => picture.fit(),
      Escape: () => picture.escape(),
      "?": () => picture.toggleHelp(),
    };
    if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      event.stopPropagation();
      actions[event.key]();
    }
    this._showCursor(event);
  }
}

function isSecondClick(event) {
  return event.detail > 1;
}
