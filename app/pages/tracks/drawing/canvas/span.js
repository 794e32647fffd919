// The visible interval of a contig and its width in CSS pixels; 0-based bp, as doubles.

export class Span {
  constructor(start, end, width) {
    Object.assign(this, { start, end, width });
  }

  get length() {
    return this.end - this.start;
  }

  // Bases per pixel.
  get scale() {
    return this.length / Math.max(this.width, 1);
  }

  toPixel(position) {
    return (position - this.start) / this.scale;
  }

  toPosition(pixel) {
    return this.start + pixel * this.scale;
  }

  // Panned by a number of pixels.
  panned(pixels) {
    const far = -pixels * this.scale;
    return new Span(this.start + far, this.end + far, this.width);
  }

  centred(position) {
    return this.panned(this.width / 2 - this.toPixel(position));
  }

  // Zoomed around the base under a pixel, with a minimum number of visible bases.
  zoomed(factor, pixel, least) {
    const limited = Math.min(factor, Math.max(this.length / least, 1));
    const at = this.toPosition(pixel);
    const start = at - (at - this.start) / limited;
    return new Span(start, at + (this.end - at) / limited, this.width);
  }

  resized(width) {
    return new Span(this.start, this.end, width);
  }

  // Moved, and reduced if necessary, to fit on a contig of this length.
  within(length) {
    const size = Math.min(this.length, length);
    const start = Math.min(Math.max(this.start, 0), length - size);
    return new Span(start, start + size, this.width);
  }
}
