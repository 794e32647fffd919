// User actions on the lanes and the overview, as calls to the picture.

import { CanvasGestures, placeIn } from "../../../../parts/canvas/canvas_gestures.js";

const MIN_PINCH_PIXELS = 8;
const KEY_SHARE = 0.1;
const FAR_KEY_SHARE = 0.8;

export class Gestures extends CanvasGestures {
  get isReady() {
    return this.picture.isReady;
  }

  get isOnThing() {
    return this.picture.hasTip;
  }

  zoom(factor, x = this.picture.span.width / 2) {
    this.picture.zoom(factor, x);
  }

  pan(dx) {
    this.picture.move(this.picture.span.panned(dx));
  }

  pinch(last, place, other) {
    const before = Math.max(Math.abs(last[0] - other[0]), MIN_PINCH_PIXELS);
    const after = Math.max(Math.abs(place[0] - other[0]), MIN_PINCH_PIXELS);
    const moved = this.picture.span.panned((place[0] - last[0]) / 2);
    this.picture.zoom(after / before, (place[0] + other[0]) / 2, moved);
  }

  pointAgain(x, y) {
    this.picture.point(x, y);
  }

  showBox(start, place) {
    this.picture.showBox([start[0], place[0]]);
    this.picture.point(...place);
  }

  onBox(start, place) {
    this.picture.showBetween(start[0], place[0]);
  }

  turnWheel(dx, dy, rate, place) {
    if (Math.abs(dx) > Math.abs(dy)) {
      this.pan(-dx);
    } else {
      super.turnWheel(dx, dy, rate, place);
    }
  }

  keys(isFar) {
    const { picture } = this;
    const far = (isFar ? FAR_KEY_SHARE : KEY_SHARE) * picture.span.width;
    return {
      ArrowLeft: () => this.pan(far),
      ArrowRight: () => this.pan(-far),
      ArrowUp: () => picture.chooseNext(-1),
      ArrowDown: () => picture.chooseNext(1),
      0: () => picture.showWhole(),
      Home: () => picture.showWhole(),
    };
  }
}

// The window of the overview can be dragged; a click elsewhere moves it there.
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
