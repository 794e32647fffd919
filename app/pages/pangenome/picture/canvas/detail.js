// Nodes, edges and bases as shapes, if few are visible. Coordinates are relative to the corner of
// the frame that contains them.

import { clipLine } from "./view.js";

const EDGE_COLOUR = "rgba(143, 161, 184, 0.75)";
const MIN_THICKNESS = 6;
const MAX_THICKNESS = 18;
const MIN_BASE_PIXELS = 6;
const CHEVRON_EVERY = 130;
const MAX_OUTLINED = 500;
const OUTLINE = "#0b1018";
const FONT = "system-ui, sans-serif";

export class Detail {
  constructor(arrays, names, origin) {
    Object.assign(this, arrays);
    this.names = names;
    this.origin = origin;
  }

  // Transform from this frame's corner to the screen.
  _toScreen(view) {
    const [x, y] = this.origin;
    const left = (x - view.x0) / view.xScale;
    const top = (view.y1 - y) / view.yScale;
    return [(dx) => left + dx / view.xScale, (dy) => top - dy / view.yScale];
  }

  thickness(view) {
    const scale = Math.min(1 / view.xScale, 1 / view.yScale);
    return Math.min(Math.max(1.5 * scale, MIN_THICKNESS), MAX_THICKNESS);
  }

  draw(context, view, colours) {
    const maps = this._toScreen(view);
    const thickness = this.thickness(view);
    this._drawEdges(context, view, maps);
    const lines = this._lines(view, maps, thickness);
    this._drawNodes(context, lines, thickness, colours);
    this._drawBases(context, view, maps, thickness, colours);
    return lines;
  }

  _drawEdges(context, view, [toX, toY]) {
    const points = this.edges;
    context.beginPath();
    for (let i = 0; i < points.length; i += 8) {
      context.moveTo(toX(points[i]), toY(points[i + 1]));
      context.bezierCurveTo(
        toX(points[i + 2]),
        toY(points[i + 3]),
        toX(points[i + 4]),
        toY(points[i + 5]),
        toX(points[i + 6]),
        toY(points[i + 7]),
      );
    }
    context.strokeStyle = EDGE_COLOUR;
    context.lineWidth = 1.25;
    context.stroke();
  }

  _lines(view, [toX, toY], thickness) {
    const lines = [];
    const { node_ends: ends } = this;
    for (let i = 0; i < ends.length / 4; i += 1) {
      const line = clipLine(
        toX(ends[4 * i]),
        toY(ends[4 * i + 1]),
        toX(ends[4 * i + 2]),
        toY(ends[4 * i + 3]),
        view.width,
        view.height,
        2 * thickness,
      );
      if (line !== null) {
        lines.push({ node: i, line });
      }
    }
    return lines;
  }

  _drawNodes(context, lines, thickness, colours) {
    context.lineCap = "round";
    for (const { node, line } of lines) {
      const [x0, y0, x1, y1] = line;
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1 === x0 && y1 === y0 ? x1 + 0.01 : x1, y1);
      if (lines.length <= MAX_OUTLINED) {
        context.lineWidth = thickness + 2;
        context.strokeStyle = OUTLINE;
        context.stroke();
      }
      context.lineWidth = thickness;
      context.strokeStyle = colours[this.node_colours[node]];
      context.stroke();
    }
    context.strokeStyle = "rgba(11, 16, 24, 0.55)";
    context.lineWidth = Math.max(1.2, thickness / 7);
    context.lineJoin = "round";
    context.beginPath();
    for (const { node, line } of lines) {
      if (!this._hasBases(node)) {
        addChevrons(context, line, thickness);
      }
    }
    context.stroke();
    context.lineCap = "butt";
  }

  _hasBases(node) {
    return this.base_offsets[node + 1] > this.base_offsets[node];
  }

  _drawBases(context, view, [toX, toY], thickness, colours) {
    const { base_offsets: offsets, base_lines: starts, base_letters: letters } = this;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let node = 0; node + 1 < offsets.length; node += 1) {
      if (!this._hasBases(node)) {
        continue;
      }
      const [x, y, dx, dy] = starts.subarray(4 * node, 4 * node + 4);
      const step = Math.hypot(dx / view.xScale, dy / view.yScale);
      if (step < MIN_BASE_PIXELS) {
        continue;
      }
      let angle = Math.atan2(-dy / view.yScale, dx / view.xScale);
      if (Math.abs(angle) > Math.PI / 2 + 1e-6) {
        angle += Math.PI;
      }
      context.fillStyle = inkOn(colours[this.node_colours[node]]);
      context.font = `600 ${Math.min(thickness * 0.8, step * 1.25)}px ${FONT}`;
      for (let i = offsets[node]; i < offsets[node + 1]; i += 1) {
        const place = i - offsets[node];
        const px = toX(x + place * dx);
        const py = toY(y + place * dy);
        if (px < -20 || py < -20 || px > view.width + 20 || py > view.height + 20) {
          continue;
        }
        context.save();
        context.translate(px, py);
        context.rotate(angle);
        context.fillText(String.fromCharCode(letters[i]), 0, 0.5);
        context.restore();
      }
    }
  }
}

// Arrow heads from a node's first base towards its last.
function addChevrons(context, [x0, y0, x1, y1], thickness) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  const size = thickness * 0.34;
  if (length < 6 * thickness) {
    return;
  }
  const n = Math.max(1, Math.floor(length / CHEVRON_EVERY));
  const ux = (x1 - x0) / length;
  const uy = (y1 - y0) / length;
  for (let i = 0; i < n; i += 1) {
    const along = ((i + 0.5) / n) * length;
    const x = x0 + ux * along;
    const y = y0 + uy * along;
    context.moveTo(x - (ux + uy) * size, y - (uy - ux) * size);
    context.lineTo(x + ux * size * 0.6, y + uy * size * 0.6);
    context.lineTo(x - (ux - uy) * size, y - (uy + ux) * size);
  }
}

function inkOn(colour) {
  const [red, green, blue] = colour.match(/\d+/g).map(Number);
  return 0.3 * red + 0.59 * green + 0.11 * blue > 110 ? "#0b1018" : "#ffffff";
}
