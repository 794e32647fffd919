// The visible rectangle of the plane (bp, y upwards) and its size in CSS pixels. All numbers are
// doubles, so a picture is sharp at 1e9 bp with pixels of 0.1 bp.

const MIN_SCALE = 1e-3;
const MAX_EXTENT = 1e13;
const STEPS_PER_PIXEL = 64;

export class View {
  constructor(x0, x1, y0, y1, width, height) {
    Object.assign(this, { x0, x1, y0, y1, width, height });
  }

  get xScale() {
    return (this.x1 - this.x0) / this.width;
  }

  get yScale() {
    return (this.y1 - this.y0) / this.height;
  }

  get isStretched() {
    return Math.abs(this.xScale / this.yScale - 1) > 0.01;
  }

  toScreenX(x) {
    return (x - this.x0) / this.xScale;
  }

  toScreenY(y) {
    return (this.y1 - y) / this.yScale;
  }

  toPlaneX(px) {
    return this.x0 + px * this.xScale;
  }

  toPlaneY(py) {
    return this.y1 - py * this.yScale;
  }

  // Zoomed around the point under a pixel.
  zoomed(factor, px = this.width / 2, py = this.height / 2) {
    const x = this.toPlaneX(px);
    const y = this.toPlaneY(py);
    const limited = this._limit(factor);
    return new View(
      x - (x - this.x0) / limited,
      x + (this.x1 - x) / limited,
      y - (y - this.y0) / limited,
      y + (this.y1 - y) / limited,
      this.width,
      this.height,
    );
  }

  // Panned by a number of pixels.
  panned(dx, dy) {
    const x = -dx * this.xScale;
    const y = dy * this.yScale;
    return new View(this.x0 + x, this.x1 + x, this.y0 + y, this.y1 + y, this.width, this.height);
  }

  centred(x, y) {
    return this.panned(this.width / 2 - this.toScreenX(x), this.height / 2 - this.toScreenY(y));
  }

  // Resized, with the same scale and centre.
  resized(width, height) {
    if (width === this.width && height === this.height) {
      return this;
    }
    const x = (this.x0 + this.x1) / 2;
    const y = (this.y0 + this.y1) / 2;
    const dx = (this.xScale * width) / 2;
    const dy = (this.yScale * height) / 2;
    return new View(x - dx, x + dx, y - dy, y + dy, width, height);
  }

  equals(other) {
    return (
      other !== null &&
      ["x0", "x1", "y0", "y1", "width", "height"].every((name) => this[name] === other[name])
    );
  }

  contains(other) {
    return (
      this.x0 <= other.x0 && this.x1 >= other.x1 && this.y0 <= other.y0 && this.y1 >= other.y1
    );
  }

  // The fraction (sx, sy, sw, sh) of this view, with its size, that another view shows, or null.
  part(other, width, height) {
    const x0 = Math.max(this.x0, other.x0);
    const x1 = Math.min(this.x1, other.x1);
    const y0 = Math.max(this.y0, other.y0);
    const y1 = Math.min(this.y1, other.y1);
    if (!(x0 < x1 && y0 < y1)) {
      return null;
    }
    const xPixel = (this.x1 - this.x0) / width;
    const yPixel = (this.y1 - this.y0) / height;
    return [(x0 - this.x0) / xPixel, (this.y1 - y1) / yPixel, (x1 - x0) / xPixel, (y1 - y0) / yPixel];
  }

  _limit(factor) {
    const ulp = Number.EPSILON * Math.max(...[this.x0, this.x1, this.y0, this.y1].map(Math.abs));
    const finest = Math.max(MIN_SCALE, ulp * STEPS_PER_PIXEL);
    const maximum = Math.min(this.xScale, this.yScale) / finest;
    const minimum = Math.max(this.x1 - this.x0, this.y1 - this.y0) / MAX_EXTENT;
    return Math.max(Math.min(factor, Math.max(maximum, 1)), Math.min(minimum, 1));
  }
}

// The part of a line inside a box from 0, 0 to width, height (plus a margin), or null.
export function clipLine(x0, y0, x1, y1, width, height, margin = 0) {
  const dx = x1 - x0;
  const dy = y1 - y0;
  let first = 0;
  let last = 1;
  for (const [p, q] of [
    [-dx, x0 + margin],
    [dx, width + margin - x0],
    [-dy, y0 + margin],
    [dy, height + margin - y0],
  ]) {
    if (p === 0) {
      if (q < 0) return null;
    } else if (p < 0) {
      first = Math.max(first, q / p);
    } else {
      last = Math.min(last, q / p);
    }
  }
  return first > last ? null : [x0 + first * dx, y0 + first * dy, x0 + last * dx, y0 + last * dy];
}
