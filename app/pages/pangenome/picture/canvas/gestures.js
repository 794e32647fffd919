// User actions on the graph, as calls to the picture.

import { CanvasGestures, placeIn } from "../../../../parts/canvas/canvas_gestures.js";

const KEY_SHARE = 0.1;
const FAR_KEY_SHARE = 0.5;

export class Gestures extends CanvasGestures {
  left = [0, 0]; // remainder of the drag distance, less than one device pixel

  get isReady() {
    return this.picture.view !== null;
  }

  get isOnThing() {
    return this.picture.isOnMap || this.picture.hasNode || this.picture.label !== null;
  }

  kindOf(place, event) {
    return this.picture.map.contains(...place) ? "map" : super.kindOf(place, event);
  }

  zoom(factor, ...place) {
    this.picture.move(this.picture.view.zoomed(factor, ...place));
  }

  // Pan by whole device pixels: the picture stays sharp, and the server can reuse it.
  pan(dx, dy) {
    const { canvas, view } = this.picture;
    const [xRatio, yRatio] = [canvas.width / view.width, canvas.height / view.height];
    const [x, y] = [dx * xRatio + this.left[0], dy * yRatio + this.left[1]];
    this.left = [x - Math.round(x), y - Math.round(y)];
    this.picture.move(view.panned(Math.round(x) / xRatio, Math.round(y) / yRatio));
  }

  pinch(last, place, other) {
    const before = Math.hypot(last[0] - other[0], last[1] - other[1]);
    const after = Math.hypot(place[0] - other[0], place[1] - other[1]);
    this.pan((place[0] - last[0]) / 2, (place[1] - last[1]) / 2);
    const middle = [(place[0] + other[0]) / 2, (place[1] + other[1]) / 2];
    this.zoom(after / Math.max(before, 1), ...middle);
  }

  pointAgain(x, y) {
    this.picture.pointAgain(x, y);
  }

  showBox(start, place) {
    this.picture.showBox([...start, ...place]);
  }

  onBox(start, place) {
    this.picture.selectBox([...start, ...place]);
  }

  keys(isFar) {
    const { picture } = this;
    const share = isFar ? FAR_KEY_SHARE : KEY_SHARE;
    const [dx, dy] = [share * picture.view.width, share * picture.view.height];
    return {
      ArrowLeft: () => this.pan(dx, 0),
      ArrowRight: () => this.pan(-dx, 0),
      ArrowUp: () => this.pan(0, dy),
      ArrowDown: () => this.pan(0, -dy),
      0: () => picture.fit(),
      Home: () => picture.fit(),
    };
  }

  // The overview map accepts both clicks and drags.
  dragTo(drag, place) {
    if (drag.kind === "map") {
      this.picture.centreFromMap(...place);
    } else if (drag.kind === "pan") {
      this.pan(place[0] - drag.last[0], place[1] - drag.last[1]);
      this.picture.carry(...place); // the dragged node moves along
    } else {
      super.dragTo(drag, place);
    }
  }

  _onDown(event) {
    super._onDown(event);
    if (this.drag?.kind === "map") {
      this.picture.centreFromMap(...this.drag.start);
    }
  }

  _onDoubleClick(event) {
    if (!this.picture.map.contains(...placeIn(this.canvas, event))) {
      super._onDoubleClick(event);
    }
  }
}
