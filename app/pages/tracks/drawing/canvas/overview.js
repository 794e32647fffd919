// The whole contig as a strip, with a window for the visible interval.

import { drawAxis } from "./axis.js";
import { Span } from "./span.js";

const FONT = "10px system-ui, sans-serif";
const MIN_WINDOW = 5;

export class Overview {
  constructor(height) {
    this.height = height;
    this.axisHeight = 22;
    this.heights = null;
    this.length = 1;
  }

  whole(width) {
    return new Span(0, this.length, width);
  }

  draw(context, span, theme) {
    const whole = this.whole(span.width);
    context.font = FONT;
    drawAxis(context, whole, theme, this.axisHeight);
    const [top, bottom] = [this.axisHeight + 2, this.height];
    context.fillStyle = theme.faint;
    context.globalAlpha = 0.7;
    const n = this.heights?.length ?? 0;
    for (let i = 0; i < n; i += 1) {
      const high = (this.heights[i] / 255) * (bottom - top);
      const left = (i / n) * span.width;
      context.fillRect(left, bottom - high, (i + 1) * (span.width / n) - left, high);
    }
    context.globalAlpha = 1;
    const [left, right] = this.window(span);
    context.fillStyle = theme.window;
    context.strokeStyle = theme.box;
    context.lineWidth = 1.5;
    context.fillRect(left, top, right - left, bottom - top);
    context.strokeRect(left, top - 0.5, right - left, bottom - top);
  }

  // Pixel range of the window, with a minimum width so that it can be grabbed.
  window(span) {
    const whole = this.whole(span.width);
    const [left, right] = [whole.toPixel(span.start), whole.toPixel(span.end)];
    const more = Math.max(MIN_WINDOW - (right - left), 0) / 2;
    return [left - more, right + more];
  }
}
