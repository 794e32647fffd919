// The tracks in the browser: the latest frame, transformed to the current span. Moves are applied
// locally and reported to the server, whose next frame supplies what is missing.

import { readArrays } from "../../../../parts/canvas/arrays.js";
import { tellPainted } from "../../../../parts/canvas/painted.js";
import { drawAxis, drawPosition } from "./axis.js";
import { Features } from "./features.js";
import { Span } from "./span.js";
import { shade, themeOf } from "./theme.js";
import { Steps, drawScale, drawSteps } from "./values.js";

const TELL_MILLISECONDS = 16;
const POINT_MILLISECONDS = 40;
const MIN_BASES = 20;
const MAX_DEVICE_PIXELS = 8e6;
const MIN_LIT = 2;
const WIDE_LIT = 8;
const LIT_TOP = 5;

export class Picture {
  constructor(parts, send) {
    Object.assign(this, parts);
    this.send = send;
    this.span = null;
    this.contig = "";
    this.length = 1;
    this.frame = null;
    this.pointer = null;
    this.box = null;
    this.nMoves = 0;
    this.nDraws = 0;
    this.isDrawing = false;
    this.painted = null;
    this.tellTimer = this.pointTimer = null;
  }

  get isReady() {
    return this.span !== null && this.contig !== "";
  }

  get hasTip() {
    return this.tip.text !== "" && !this.tip.isPinned;
  }

  get least() {
    return Math.min(MIN_BASES, this.length);
  }

  // Handle the first or a changed width of the lanes.
  resize(width) {
    if (width < 1) {
      return;
    }
    const isFirst = this.span === null;
    this.span = isFirst ? new Span(0, 1, width) : this.span.resized(width);
    this._tell(isFirst ? "hello" : "resize");
    this.requestDraw();
  }

  // Set the span after a user action.
  move(span) {
    this.span = span.within(this.length);
    this.nMoves += 1;
    this.requestDraw();
    this.tellTimer ??= setTimeout(() => {
      this.tellTimer = null;
      this._tell("view");
    }, TELL_MILLISECONDS);
  }

  zoom(factor, pixel, span = this.span) {
    this.move(span.zoomed(factor, pixel, this.least));
  }

  showWhole() {
    this.move(new Span(0, this.length, this.span.width));
  }

  showBetween(x0, x1) {
    const [start, end] = [Math.min(x0, x1), Math.max(x0, x1)].map((x) => this.span.toPosition(x));
    const more = Math.max(this.least - (end - start), 0) / 2;
    this.move(new Span(start - more, end + more, this.span.width));
  }

  _tell(kind) {
    const { start, end, width } = this.span;
    const { contig, nMoves: moves } = this;
    this.send({ kind, contig, bounds: [start, end], width, moves });
  }

  showBox(box) {
    this.box = box;
    this.requestDraw();
  }

  escape() {
    this.tip.close();
  }

  click(x, y) {
    this.send({ kind: "click", position: this.span.toPosition(x), y });
  }

  chooseNext(step) {
    const rows = this.frame?.lanes.flatMap((lane) => lane.rows) ?? [];
    const place = rows.findIndex((row) => row.is_chosen) + step;
    if (rows[place] !== undefined) {
      this.send({ kind: "choose", track: rows[place].id });
    }
  }

  // Handle a pointer position; asks for the values of the tracks under it.
  point(x, y) {
    this.pointer = [x, y];
    this.requestDraw();
    this.pointTimer ??= setTimeout(() => {
      this.pointTimer = null;
      if (this.pointer !== null && this.isReady) {
        const [px, py] = this.pointer;
        this.send({ kind: "point", position: this.span.toPosition(px), y: py });
      }
    }, POINT_MILLISECONDS);
  }

  leave() {
    this.pointer = null;
    this.margin.showValues({});
    this.tip.show(null);
    this.requestDraw();
    this.send({ kind: "leave" });
  }

  // Handle a message of the server.
  async take(message) {
    if (message.kind === "frame") {
      await this._onFrame(message);
    } else if (message.kind === "view") {
      this._lookAt(message);
    } else if (message.kind === "values") {
      this._onValues(message);
    } else if (message.kind === "card") {
      this.tip.pin(message.tip, this.span.toPixel(message.position), message.y);
    }
    this.requestDraw();
  }

  // Move to the server's span, unless the user has moved on the same contig meanwhile.
  _lookAt({ contig, length, bounds, moves }) {
    const isOther = contig !== this.contig || length !== this.length;
    Object.assign(this, { contig, length });
    this.overview.length = length;
    if (this.span !== null && (isOther || moves === this.nMoves)) {
      this.span = new Span(...bounds, this.span.width);
    }
    if (isOther) {
      this.tip.close();
    }
  }

  _onValues({ values, tip }) {
    if (this.pointer !== null) {
      this.margin.showValues(values);
      this.tip.show(tip, ...this.pointer);
    }
  }

  async _onFrame(message) {
    const arrays = await readArrays(message);
    const { origin } = message;
    for (const lane of message.lanes) {
      for (const row of lane.rows) {
        row.steps = row.parts.map((part) => new Steps(part, arrays, origin));
        row.features = row.boxes === null ? null : new Features(row.boxes, arrays, origin);
      }
    }
    for (const set of message.lit) {
      set.ends = arrays[set.name];
    }
    this.frame = message;
    if (arrays.overview !== undefined) {
      this.overview.heights = arrays.overview;
    }
    this.said.textContent = message.said;
    this.margin.show(message.lanes, message.hidden, message.height);
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

  _prepare(canvas, width, height) {
    const most = Math.sqrt(MAX_DEVICE_PIXELS / (width * height));
    const ratio = Math.max(Math.min(window.devicePixelRatio || 1, most), 0.25);
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) {
      canvas.width = wide;
      canvas.height = high;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d", { alpha: false });
    context.setTransform(wide / width, 0, 0, high / height, 0, 0);
    context.fillStyle = this.theme.ground;
    context.fillRect(0, 0, width, height);
    return context;
  }

  draw() {
    if (this.span === null || this.frame === null) {
      return;
    }
    this.theme = themeOf(this.root);
    this.root.dataset.theme = this.theme.isDark ? "dark" : "light";
    const { span, theme, frame } = this;
    this._drawHead(span, theme);
    const context = this._prepare(this.canvas, span.width, Math.max(frame.height, 1));
    for (const lane of frame.lanes) {
      this._drawLane(context, span, lane, theme);
    }
    this._drawLit(context, span, theme, frame);
    this._drawPointer(context, span, theme, frame.height);
    this._note();
    tellPainted(this);
  }

  _drawHead(span, theme) {
    const { head, overview } = this;
    const context = this._prepare(head, span.width, overview.height + 24);
    overview.draw(context, span, theme);
    const bottom = overview.height + 24;
    drawAxis(context, span, theme, bottom, this.pointer?.[0] ?? null);
    if (this.pointer !== null) {
      drawPosition(context, span, theme, bottom, this.pointer[0]);
    }
    context.fillStyle = theme.line;
    context.fillRect(0, bottom - 1, span.width, 1);
  }

  _drawLane(context, span, lane, theme) {
    if (lane.rows.some((row) => row.is_chosen)) {
      context.fillStyle = theme.chosen;
      context.fillRect(0, lane.top, span.width, lane.bottom - lane.top);
    }
    const isOverlay = lane.rows.length > 1;
    for (const { colour, steps, features } of lane.rows) {
      for (const part of steps) {
        drawSteps(context, span, lane, part, colour, theme, isOverlay);
      }
      features?.draw(context, span, lane, theme);
    }
    if (lane.has_values) {
      drawScale(context, span, lane, theme);
    }
    context.fillStyle = theme.line;
    context.fillRect(0, lane.bottom - 1, span.width, 1);
  }

  // Highlights: bands across all lanes, with a minimum width.
  _drawLit(context, span, theme, frame) {
    for (const { ends, colour } of frame.lit) {
      context.fillStyle = shade(colour, theme);
      for (let i = 0; i < ends.length; i += 2) {
        const left = span.toPixel(frame.origin + ends[i]);
        const right = span.toPixel(frame.origin + ends[i + 1]);
        if (right < -1 || left > span.width + 1) {
          continue;
        }
        const wide = Math.max(right - left, MIN_LIT);
        const from = Math.max((left + right - wide) / 2, -2);
        const to = Math.min((left + right + wide) / 2, span.width + 2);
        context.globalAlpha = to - from > WIDE_LIT ? 0.25 : 0.75;
        context.fillRect(from, 0, to - from, frame.height);
        context.globalAlpha = 1;
        context.fillRect(from, 0, to - from, LIT_TOP);
      }
    }
  }

  _drawPointer(context, span, theme, height) {
    if (this.box !== null) {
      const [left, right] = [Math.min(...this.box), Math.max(...this.box)];
      context.fillStyle = theme.window;
      context.strokeStyle = theme.box;
      context.fillRect(left, 0, right - left, height);
      context.strokeRect(left, 0.5, right - left, height - 1);
    } else if (this.pointer !== null) {
      context.fillStyle = theme.cross;
      context.fillRect(Math.round(this.pointer[0]), 0, 1, height);
    }
  }

  // The displayed state, for tests and scripts.
  _note() {
    this.nDraws += 1;
    const { dataset } = this.canvas;
    dataset.view = JSON.stringify([this.contig, this.span.start, this.span.end]);
    dataset.draws = this.nDraws;
    dataset.tip = this.tip.text;
    dataset.lit = JSON.stringify(this.frame.lit.map(({ title, ends }) => [title, ends.length / 2]));
  }
}
