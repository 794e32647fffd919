// What a person does to the lanes and to the overview, as calls to the picture.

const CLICK_PIXELS = 4;
const WHEEL_RATE = 0.0016;
const PINCH_RATE = 0.01;
const LINE_PIXELS = 16;
const DOUBLE_CLICK_FACTOR = 2;
const KEY_FACTOR = 1.6;
const KEY_SHARE = 0.1;
const FAR_KEY_SHARE = 0.8;

function placeIn(element, event) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

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
  }

  _showCursor(event) {
    const isBox = this.drag?.kind === "box" || event.shiftKey;
    const cursor = this.drag !== null ? "grabbing" : this.picture.hasTip ? "pointer" : "grab";
    this.canvas.style.cursor = isBox ? "crosshair" : cursor;
  }

  _takeDown(event) {
    if (event.button !== 0 || !this.picture.isReady) {
      return;
    }
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const place = placeIn(this.canvas, event);
    this.pointers.set(event.pointerId, place);
    const kind = event.shiftKey ? "box" : "pan";
    this.drag = { kind, start: place, last: place, isMoved: false };
    this._showCursor(event);
  }

  _takeMove(event) {
    const place = placeIn(this.canvas, event);
    const { drag, picture } = this;
    if (this.pointers.size === 2 && this.pointers.has(event.pointerId)) {
      this._pinch(event.pointerId, place);
      return;
    }
    if (drag !== null) {
      drag.isMoved ||= Math.hypot(place[0] - drag.start[0], place[1] - drag.start[1]) >= CLICK_PIXELS;
      if (drag.isMoved && drag.kind === "box") {
        picture.showBox([drag.start[0], place[0]]);
      } else if (drag.isMoved) {
        picture.move(picture.span.panned(place[0] - drag.last[0]));
      }
      if (drag.isMoved) {
        drag.last = place;
      }
    }
    this.pointers.set(event.pointerId, place);
    if (event.buttons === 0) {
      this.pointers.delete(event.pointerId);
    }
    picture.point(...place);
    this._showCursor(event);
  }

  _pinch(id, place) {
    const [first, second] = [...this.pointers.keys()];
    const other = this.pointers.get(id === first ? second : first);
    const last = this.pointers.get(id);
    const before = Math.max(Math.abs(last[0] - other[0]), 8);
    const after = Math.max(Math.abs(place[0] - other[0]), 8);
    const moved = this.picture.span.panned((place[0] - last[0]) / 2);
    this.picture.zoom(after / before, (place[0] + other[0]) / 2, moved);
    this.pointers.set(id, place);
    this.drag = null;
  }

  _takeUp(event) {
    this.pointers.delete(event.pointerId);
    const { drag, picture } = this;
    this.drag = null;
    const place = placeIn(this.canvas, event);
    if (drag?.kind === "box") {
      picture.showBox(null);
      if (drag.isMoved) {
        picture.showBetween(drag.start[0], place[0]);
      }
    } else if (drag !== null && !drag.isMoved && event.detail < 2) {
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
    const factor = event.shiftKey ? 1 / DOUBLE_CLICK_FACTOR : DOUBLE_CLICK_FACTOR;
    this.picture.zoom(factor, placeIn(this.canvas, event)[0]);
  }

  _takeWheel(event) {
    const { picture } = this;
    if (!picture.isReady) {
      return;
    }
    event.preventDefault();
    const unit = event.deltaMode === 0 ? 1 : LINE_PIXELS;
    const [x, y] = placeIn(this.canvas, event);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      picture.move(picture.span.panned(-event.deltaX * unit));
    } else {
      const rate = event.ctrlKey ? PINCH_RATE : WHEEL_RATE;
      picture.zoom(Math.exp(-event.deltaY * unit * rate), x);
    }
    picture.point(x, y);
  }

  _takeKey(event) {
    const { picture } = this;
    if (event.ctrlKey || event.metaKey || event.altKey || !picture.isReady) {
      return;
    }
    const { span } = picture;
    const far = (event.shiftKey ? FAR_KEY_SHARE : KEY_SHARE) * span.width;
    const middle = span.width / 2;
    const actions = {
      ArrowLeft: () => picture.move(span.panned(far)),
      ArrowRight: () => picture.move(span.panned(-far)),
      ArrowUp: () => picture.chooseNext(-1),
      ArrowDown: () => picture.chooseNext(1),
      "+": () => picture.zoom(KEY_FACTOR, middle),
      "=": () => picture.zoom(KEY_FACTOR, middle),
      "-": () => picture.zoom(1 / KEY_FACTOR, middle),
      _: () => picture.zoom(1 / KEY_FACTOR, middle),
      0: () => picture.showWhole(),
      Home: () => picture.showWhole(),
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

// The window of the overview is dragged; a click elsewhere brings it there.
export function listenToOverview(canvas, picture) {
  let grip = null;
  const positionAt = (event) => picture.overview.whole(picture.span.width).toPosition(placeIn(canvas, event)[0]);
  const take = (event) => picture.move(picture.span.centred(positionAt(event) - grip));
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !picture.isReady) {
      return;
    }
    const [x] = placeIn(canvas, event);
    const [left, right] = picture.overview.window(picture.span);
    const { start, end } = picture.span;
    grip = x >= left && x <= right ? positionAt(event) - (start + end) / 2 : 0;
    canvas.setPointerCapture(event.pointerId);
    take(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (grip !== null) {
      take(event);
    }
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, () => {
      grip = null;
    });
  }
}
