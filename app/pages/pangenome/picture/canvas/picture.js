// The picture in the browser: the latest frame, transformed to the current view. Moves are applied
// locally and reported to the server, whose next frame is sharp.

import { readArrays } from "../../../../parts/canvas/arrays.js";
import { tellPainted } from "../../../../parts/canvas/painted.js";
import { Detail } from "./detail.js";
import { Bitmap, Palette } from "./frame.js";
import { SmallMap, drawHint, drawNotice, drawScaleBars } from "./furniture.js";
import { Labels, drawTooltip } from "./labels.js";
import { View } from "./view.js";

const TELL_MILLISECONDS = 30;
const POINT_MILLISECONDS = 50;
const PATIENCE_MILLISECONDS = 4000;
const MAX_DEVICE_PIXELS = 6e6;
const GROUND = "#0b1018";
const LABEL_HINT = "Click to select it";
const NODE_NAME_COLOUR = "#b7c4d6";

export class Picture {
  constructor(canvas, wayBack, send) {
    Object.assign(this, { canvas, wayBack, send });
    this.context = canvas.getContext("2d", { alpha: false });
    this.view = null;
    this.ratio = 1;
    this.nMoves = this.nSizes = 0;
    this.palette = null;
    this.frame = new Bitmap();
    this.map = new SmallMap(new Bitmap());
    this.showsMap = false;
    this.detail = null;
    this.labels = [];
    this.labelPlaces = new Float32Array(0);
    this.placedLabels = [];
    this.hover = null;
    this.pointer = null;
    this.box = null;
    this.hint = "";
    this.waiting = "Waiting for the server; you can still move the view";
    this.isFolded = this.isLost = false;
    this.isDrawing = false;
    this.painted = null;
    this.next = null; // a frame that came before the last one was painted, and its arrays
    this.taken = Promise.resolve();
    this.waitsSince = null;
    this.tellTimer = null;
    this.pointTimer = null;
  }

  // Whether no frame has arrived yet, and no error either.
  get isBare() {
    return this.frame.view === null && this.hint === "";
  }

  get hasNode() {
    return this.hover !== null;
  }

  // The label under the pointer that can be clicked, or null.
  get label() {
    return this.pointer === null ? null : this._labelAt(...this.pointer);
  }

  _labelAt(px, py) {
    const isThere = ({ box: [left, top, right, bottom] }) =>
      px >= left && px <= right && py >= top && py <= bottom;
    return this.placedLabels.find(isThere) ?? null;
  }

  get isOnMap() {
    return this.pointer !== null && this.map.contains(...this.pointer);
  }

  // Handle the first or a changed size of the canvas.
  resize(width, height) {
    if (width < 1 || height < 1) {
      return;
    }
    const maximum = Math.sqrt(MAX_DEVICE_PIXELS / (width * height));
    this.ratio = Math.max(Math.min(window.devicePixelRatio || 1, maximum), 0.25);
    this.canvas.width = Math.max(Math.round(width * this.ratio), 1);
    this.canvas.height = Math.max(Math.round(height * this.ratio), 1);
    const isFirst = this.view === null;
    this.view = isFirst
      ? new View(0, width, 0, height, width, height)
      : this.view.resized(width, height);
    this.nSizes += 1;
    this.draw();
    this._tell(isFirst ? "hello" : "resize");
  }

  // Set the view after a user action.
  move(view) {
    this.view = view;
    this.nMoves += 1;
    this.requestDraw();
    if (this.tellTimer === null) {
      this.tellTimer = setTimeout(() => {
        this.tellTimer = null;
        this._tell("view");
      }, TELL_MILLISECONDS);
    }
  }

  _tell(kind) {
    const { x0, x1, y0, y1 } = this.view;
    const { width, height } = this.canvas;
    this.waitsSince ??= performance.now();
    setTimeout(() => this.requestDraw(), PATIENCE_MILLISECONDS + 100);
    const { nMoves: moves, nSizes: sizes } = this;
    this.send({ kind, bounds: [x0, x1, y0, y1], width, height, moves, sizes });
  }

  fit() {
    clearTimeout(this.tellTimer);
    this.tellTimer = null;
    this.nMoves += 1;
    this.send({ kind: "fit", moves: this.nMoves });
  }

  escape() {
    this.showBox(null);
    this.send({ kind: "escape" });
  }

  click(px, py) {
    const label = this._labelAt(px, py);
    if (label !== null) {
      this.send({ kind: "label", key: label.key });
      return;
    }
    this.send({ kind: "click", x: this.view.toPlaneX(px), y: this.view.toPlaneY(py) });
  }

  showBox(box) {
    this.box = box;
    this.requestDraw();
  }

  selectBox([px0, py0, px1, py1]) {
    const { view } = this;
    this.send({
      kind: "select",
      bounds: [
        view.toPlaneX(Math.min(px0, px1)),
        view.toPlaneX(Math.max(px0, px1)),
        view.toPlaneY(Math.max(py0, py1)),
        view.toPlaneY(Math.min(py0, py1)),
      ],
    });
  }

  centreFromMap(px, py) {
    this.move(this.view.centred(...this.map.pointAt(px, py)));
  }

  // The pointer is here, without dragging; asks for the node under it.
  point(px, py) {
    const before = this.label;
    this.pointer = [px, py];
    if (this.hover !== null || this.label !== before) {
      this.requestDraw();
    }
    if (this.view !== null && this.pointTimer === null) {
      this.pointTimer = setTimeout(() => {
        this.pointTimer = null;
        this._ask();
      }, POINT_MILLISECONDS);
    }
  }

  pointAgain(px, py) {
    this.hover = null;
    this.point(px, py);
  }

  // The pointer has moved along with the picture.
  carry(px, py) {
    this.pointer = [px, py];
    this.hover = null;
  }

  leave() {
    this.pointer = null;
    this.hover = null;
    this.requestDraw();
    this._ask();
  }

  _ask() {
    if (this.pointer === null || this.isOnMap || this.label !== null) {
      this.send({ kind: "leave" });
    } else {
      const [px, py] = this.pointer;
      this.send({ kind: "point", x: this.view.toPlaneX(px), y: this.view.toPlaneY(py) });
    }
  }

  // Handle a message of the server, after those before it.
  take(message) {
    const take = () => this._take(message);
    this.taken = this.taken.then(take, take);
    return this.taken;
  }

  async _take(message) {
    const arrays = message.kind === "frame" ? await readArrays(message) : null;
    this._showNext();
    if (message.kind === "frame") {
      this.next = [message, arrays];
      if (this.painted === null) {
        this._showNext();
      }
    } else if (message.kind === "view") {
      this._lookAt(message);
      if (message.sizes !== this.nSizes) {
        this._tell("resize"); // the last report of the size had the old view
      }
    } else if (message.kind === "hover") {
      this._onHover(message.hover);
    }
    this.requestDraw();
  }

  // Move to the server's view, unless the user has moved meanwhile. If the canvas has another size
  // by now, the scale is kept.
  _lookAt({ bounds, width, height, moves }) {
    if (moves !== this.nMoves || this.view === null) {
      return;
    }
    const { canvas, view } = this;
    const known = [(width / canvas.width) * view.width, (height / canvas.height) * view.height];
    this.view = new View(...bounds, ...known).resized(view.width, view.height);
  }

  _onHover(hover) {
    this.hover = this.pointer === null ? null : hover;
  }

  _showNext() {
    if (this.next !== null) {
      const [message, arrays] = this.next;
      this.next = null;
      this._onFrame(message, arrays);
    }
  }

  _onFrame(message, arrays) {
    if (arrays.palette) {
      this.palette = new Palette(arrays.palette);
    }
    const { words } = this.palette;
    const { bounds, width, height } = message;
    this.frame.put(arrays.indices, width, height, words, bounds);
    if (arrays.map) {
      this.map.bitmap.put(arrays.map, ...message.map_size, words, message.map_bounds);
    }
    this.showsMap = message.shows_map;
    this.isFolded = message.is_folded;
    this.isLost = message.is_lost;
    const origin = [bounds[0], bounds[2]];
    this.detail = arrays.edges ? new Detail(arrays, message.names, origin) : null;
    this.labels = message.labels;
    this.labelPlaces = arrays.label_places ?? new Float32Array(0);
    this.labelOrigin = origin;
    if (message.hover !== undefined) {
      this._onHover(message.hover);
    }
    if (message.follows) {
      this._lookAt(message);
    }
    this.waitsSince = null;
    this.painted = message.n;
  }

  requestDraw() {
    if (!this.isDrawing) {
      this.isDrawing = true;
      requestAnimationFrame(() => {
        this.isDrawing = false;
        this.draw();
      });
    }
  }

  draw() {
    if (this.view === null) {
      return;
    }
    if (this.painted === null) {
      this._showNext();
    }
    const { canvas, context, view } = this;
    const [xRatio, yRatio] = [canvas.width / view.width, canvas.height / view.height];
    context.setTransform(xRatio, 0, 0, yRatio, 0, 0);
    context.fillStyle = GROUND;
    context.fillRect(0, 0, view.width, view.height);
    const isEmpty = this.frame.view === null || this.hint !== "";
    this.wayBack.hidden = isEmpty || !this.isLost;
    if (isEmpty) {
      drawHint(context, view, this.hint);
    } else {
      this._drawAll(context, view);
    }
    this._note();
    tellPainted(this);
    if (this.next !== null) {
      this.requestDraw();
    }
  }

  // The displayed state, for tests and scripts.
  _note() {
    const { x0, x1, y0, y1 } = this.view;
    const { dataset } = this.canvas;
    dataset.view = JSON.stringify([x0, x1, y0, y1]);
    dataset.hover = this._tip ?? "";
    dataset.clickable = JSON.stringify(this.placedLabels);
    dataset.map = this.map.box === null ? "" : JSON.stringify(this.map.box);
    dataset.shapes = this.detail === null ? 0 : this.detail.node_colours.length;
  }

  _drawAll(context, view) {
    if (this.showsMap && !this.frame.view.contains(view)) {
      this.map.bitmap.draw(context, view);
    }
    this.frame.draw(context, view);
    const words = new Labels(context, view);
    const lines = this.detail?.draw(context, view, this.palette.colours) ?? [];
    this._drawHighlight(context, view);
    const bar = drawScaleBars(context, view, this.isFolded);
    words.block(...bar);
    const map = this.showsMap ? this.map.draw(context, view) : null;
    if (!this.showsMap) {
      this.map.box = null;
    }
    if (map !== null) {
      words.block(...map);
    }
    this._drawLabels(words, view);
    this.placedLabels = words.placed;
    this._drawNames(words, view, lines);
    words.write();
    this.canvas.dataset.labels = words.words.length;
    this._drawBox(context);
    if (this._tip !== null) {
      drawTooltip(context, view, ...this.pointer, this._tip);
    }
    if (this.waitsSince !== null && performance.now() - this.waitsSince > PATIENCE_MILLISECONDS) {
      drawNotice(context, view, this.waiting);
    }
  }

  // The words beside the pointer, or null: they name a label, or else a node.
  get _tip() {
    const { label, hover, pointer } = this;
    if (label !== null) {
      return `${label.text}\n${LABEL_HINT}`;
    }
    return hover === null || pointer === null ? null : hover.text;
  }

  _drawHighlight(context, view) {
    if (this.hover === null || this.label !== null) {
      return;
    }
    context.lineCap = "round";
    context.strokeStyle = "#ffffff";
    context.lineWidth = this.detail ? this.detail.thickness(view) + 4 : 4;
    context.globalAlpha = this.detail ? 0.45 : 1;
    context.beginPath();
    for (const [x0, y0, x1, y1] of this.hover.lines) {
      context.moveTo(view.toScreenX(x0), view.toScreenY(y0));
      context.lineTo(view.toScreenX(x1) + 0.01, view.toScreenY(y1));
    }
    context.stroke();
    context.globalAlpha = 1;
    context.lineCap = "butt";
  }

  _drawLabels(words, view) {
    const [x, y] = this.labelOrigin ?? [0, 0];
    this.labels.forEach(([text, colour, key], i) => {
      const px = (x - view.x0 + this.labelPlaces[2 * i]) / view.xScale;
      const py = (view.y1 - y - this.labelPlaces[2 * i + 1]) / view.yScale;
      words.place(text, px, py, { colour, weight: 600, size: 12.5, mayLead: true, key });
    });
  }

  _drawNames(words, view, lines) {
    if (!this.detail?.names.length) {
      return;
    }
    const gap = this.detail.thickness(view) / 2 + 3;
    for (const { node, line } of lines) {
      const [x0, y0, x1, y1] = line;
      const name = this.detail.names[node];
      const isLevel = Math.abs(y1 - y0) < 0.25 * Math.abs(x1 - x0);
      const lean = isLevel ? 0 : Math.sign((x1 - x0) * (y1 - y0)) || 1;
      const look = { colour: NODE_NAME_COLOUR, size: 11, gap, lean };
      words.place(name, (x0 + x1) / 2, (y0 + y1) / 2, look);
    }
  }

  _drawBox(context) {
    if (this.box === null) {
      return;
    }
    const [x0, y0, x1, y1] = this.box;
    context.fillStyle = "rgba(243, 194, 107, 0.12)";
    context.strokeStyle = "#f3c26b";
    context.lineWidth = 1;
    context.fillRect(x0, y0, x1 - x0, y1 - y0);
    context.strokeRect(x0, y0, x1 - x0, y1 - y0);
  }
}
