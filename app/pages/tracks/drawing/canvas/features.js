// Features in rows: boxes, or exons on a line with strand arrows, with labels.

import { shade } from "./theme.js";

const FONT = "11px system-ui, sans-serif";
const ARROW_PIXELS = 3;
const ARROW_STEP = 14;
const MIN_PIXELS = 1;
const MIN_ARROWED = 12;

export class Features {
  constructor(part, arrays, origin) {
    Object.assign(this, part);
    for (const name of ["lefts", "rights", "tops", "inks", "strands", "owners", "begins", "stops"]) {
      this[name] = arrays[`${part.name}${name}`];
    }
    this.origin = origin;
    this.n = this.lefts.length;
  }

  draw(context, span, lane, theme) {
    const start = span.start - this.origin;
    const toPixel = (place) => (place - start) / span.scale;
    const colours = this.colours.map((colour) => shade(colour, theme));
    context.save();
    context.beginPath();
    context.rect(0, lane.top, span.width, lane.bottom - lane.top);
    context.clip();
    context.lineWidth = 1;
    this._drawLines(context, span, lane, toPixel, colours);
    this._drawBoxes(context, span, lane, toPixel, colours);
    this._drawNames(context, span, lane, toPixel, theme);
    context.restore();
  }

  _drawLines(context, span, lane, toPixel, colours) {
    const half = this.box / 2;
    for (let i = 0; i < this.n; i += 1) {
      const left = Math.max(toPixel(this.lefts[i]), -ARROW_STEP);
      const right = Math.min(toPixel(this.rights[i]), span.width + ARROW_STEP);
      const strand = this.strands[i] - 1;
      if (right - left < MIN_ARROWED || left > span.width || right < 0) {
        continue;
      }
      const y = Math.round(lane.top + this.tops[i] + half) + 0.5;
      context.strokeStyle = colours[this.inks[i]];
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(right, y);
      if (strand !== 0 && this.has_blocks) {
        this._addArrows(context, toPixel(this.lefts[i]), left, right, y, strand);
      }
      context.stroke();
    }
  }

  _addArrows(context, anchor, left, right, y, strand) {
    const tip = strand * ARROW_PIXELS;
    const skipped = Math.max(Math.ceil((left - anchor) / ARROW_STEP), 1);
    for (let x = anchor + skipped * ARROW_STEP; x < right - ARROW_PIXELS; x += ARROW_STEP) {
      context.moveTo(x - tip / 2, y - ARROW_PIXELS);
      context.lineTo(x + tip / 2, y);
      context.lineTo(x - tip / 2, y + ARROW_PIXELS);
    }
  }

  _drawBoxes(context, span, lane, toPixel, colours) {
    for (let k = 0; k < this.begins.length; k += 1) {
      const left = toPixel(this.begins[k]);
      const right = Math.max(toPixel(this.stops[k]), left + MIN_PIXELS);
      if (left > span.width || right < 0) {
        continue;
      }
      const owner = this.owners[k];
      context.fillStyle = colours[this.inks[owner]];
      const [from, to] = [Math.max(left, -2), Math.min(right, span.width + 2)];
      context.fillRect(from, lane.top + this.tops[owner], to - from, this.box);
    }
  }

  // Labels of partly visible features are shifted into view, if there is room.
  _drawNames(context, span, lane, toPixel, theme) {
    context.font = FONT;
    context.textAlign = "left";
    context.textBaseline = "top";
    context.fillStyle = theme.ink;
    for (const [i, text] of this.names) {
      const left = toPixel(this.lefts[i]);
      const right = toPixel(this.rights[i]);
      const width = context.measureText(text).width;
      const x = Math.min(Math.max(left, 2), Math.max(right - width, left));
      if (x < span.width && x + width > 0) {
        context.fillText(text, x, lane.top + this.tops[i] + this.box + 2);
      }
    }
  }
}
