// Values along a lane: mean and range of bins, or exact steps, on the lane's scale.

import { shade } from "./theme.js";

const GAP = 5;
const CLIP_PIXELS = 3;
const FONT = "10px system-ui, sans-serif";

function squeeze(value, isLog) {
  return isLog ? Math.sign(value) * Math.log1p(Math.abs(value)) : value;
}

// Vertical position of a value in a lane, for parts that extend up or down.
export class Ruler {
  constructor(lane, isDown) {
    const { is_log: isLog, is_mirrored: isMirrored, scale } = lane;
    const [top, bottom] = [lane.top + GAP, lane.bottom - GAP];
    const middle = (top + bottom) / 2;
    this.isLog = isLog;
    this.isDown = isDown;
    this.top = isMirrored && isDown ? middle : top;
    this.bottom = isMirrored && !isDown ? middle : bottom;
    [this.least, this.greatest] = scale;
    this.low = squeeze(scale[0], isLog);
    this.range = Math.max(squeeze(scale[1], isLog) - this.low, 1e-12);
  }

  toPixel(value) {
    const share = (squeeze(value, this.isLog) - this.low) / this.range;
    const inside = Math.min(Math.max(share, 0), 1);
    const height = this.bottom - this.top;
    return this.top + height * (this.isDown ? inside : 1 - inside);
  }
}

// Steps of one part: edge i, and the values up to the next edge.
export class Steps {
  constructor(part, arrays, origin) {
    Object.assign(this, part);
    const name = part.name;
    this.low = arrays[`${name}low`] ?? arrays[`${name}mean`];
    this.mean = arrays[`${name}mean`];
    this.high = arrays[`${name}high`] ?? arrays[`${name}mean`];
    this.edges = arrays[`${name}edges`] ?? null;
    this.origin = origin;
    this.n = this.mean.length;
  }

  edge(i) {
    if (this.edges === null) {
      return Math.min(this.first + i * this.size, this.end);
    }
    return this.origin + this.edges[i];
  }

  // The step at a position, if there is one.
  find(position) {
    if (this.edges === null) {
      return Math.floor((position - this.first) / this.size);
    }
    let [low, high] = [0, this.n];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.edge(middle + 1) > position) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}

function stepPath(span, steps, [first, last], heights, backHeights) {
  const path = new Path2D();
  const x = (i) => span.toPixel(steps.edge(i));
  path.moveTo(x(first), backHeights(first));
  for (let i = first; i < last; i += 1) {
    const y = heights(i);
    path.lineTo(x(i), y);
    path.lineTo(x(i + 1), y);
  }
  for (let i = last - 1; i >= first; i -= 1) {
    const y = backHeights(i);
    path.lineTo(x(i + 1), y);
    path.lineTo(x(i), y);
  }
  path.closePath();
  return path;
}

function linePath(span, steps, [first, last], heights) {
  const path = new Path2D();
  for (let i = first; i < last; i += 1) {
    const y = heights(i);
    path.lineTo(span.toPixel(steps.edge(i)), y);
    path.lineTo(span.toPixel(steps.edge(i + 1)), y);
  }
  return path;
}

export function drawSteps(context, span, lane, steps, colour, theme, isOverlay) {
  const first = Math.max(steps.find(span.start), 0);
  const last = Math.min(steps.find(span.end) + 1, steps.n);
  if (first >= last) {
    return;
  }
  const ruler = new Ruler(lane, steps.is_down);
  const base = ruler.toPixel(0);
  const seen = [first, last];
  const mean = (i) => ruler.toPixel(steps.mean[i]);
  context.fillStyle = context.strokeStyle = shade(colour, theme);
  if (steps.high !== steps.mean) {
    context.globalAlpha = isOverlay ? 0.2 : 0.36;
    const [low, high] = [steps.low, steps.high].map((v) => (i) => ruler.toPixel(v[i]));
    context.fill(stepPath(span, steps, seen, high, low));
  }
  context.globalAlpha = isOverlay ? 0.28 : 0.55;
  context.fill(stepPath(span, steps, seen, mean, () => base));
  context.globalAlpha = 1;
  context.lineWidth = 1;
  context.stroke(linePath(span, steps, seen, mean));
  drawClips(context, span, steps, seen, ruler, theme);
}

// Mark values beyond the scale.
function drawClips(context, span, steps, [first, last], ruler, theme) {
  const [most, least] = [ruler.greatest * (1 + 1e-6), ruler.least - 1e-6 * Math.abs(ruler.least)];
  const [above, below] = [ruler.top, ruler.bottom - CLIP_PIXELS];
  context.fillStyle = theme.clip;
  for (let i = first; i < last; i += 1) {
    const isHigh = steps.high[i] > most;
    if (isHigh || steps.low[i] < least) {
      const left = span.toPixel(steps.edge(i));
      const width = Math.max(span.toPixel(steps.edge(i + 1)) - left, 1);
      context.fillRect(left, isHigh === ruler.isDown ? below : above, width, CLIP_PIXELS);
    }
  }
}

// Limits of the scale on the left, and the zero line.
export function drawScale(context, span, lane, theme) {
  const ruler = new Ruler(lane, false);
  context.fillStyle = theme.line;
  context.fillRect(0, Math.round(ruler.toPixel(0)), span.width, 1);
  const [low, high] = lane.ends;
  const down = lane.is_mirrored ? new Ruler(lane, true) : null;
  write(context, theme, high, ruler.top);
  write(context, theme, down ? high : low, (down ?? ruler).bottom);
}

function write(context, theme, text, y) {
  context.font = FONT;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = theme.halo;
  context.strokeText(text, 4, y);
  context.fillStyle = theme.ink;
  context.fillText(text, 4, y);
}
