// Palette indices as a bitmap under any view.

import { View } from "./view.js";

export class Palette {
  constructor(rgba) {
    this.words = new Uint32Array(rgba.slice().buffer);
    this.colours = Array.from(
      { length: rgba.length / 4 },
      (_, i) => `rgb(${rgba[4 * i]} ${rgba[4 * i + 1]} ${rgba[4 * i + 2]})`,
    );
  }
}

export class Bitmap {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d", { alpha: false, willReadFrequently: true });
    this.view = null;
    this.image = null;
  }

  put(indices, width, height, words, bounds) {
    if (this.image === null || this.image.width !== width || this.image.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const { pixels } = this;
    for (let row = 0; row < height; row += 1) {
      const from = (height - 1 - row) * width;
      const to = row * width;
      for (let column = 0; column < width; column += 1) {
        pixels[to + column] = words[indices[from + column]];
      }
    }
    this.context.putImageData(this.image, 0, 0);
    this.view = new View(...bounds, width, height);
  }

  // Draw the part of the bitmap in a view; CSS pixels.
  draw(context, view) {
    if (this.view === null) {
      return;
    }
    const { width, height } = this.canvas;
    const source = this.view.part(view, width, height);
    const target = view.part(this.view, view.width, view.height);
    if (source === null || target === null) {
      return;
    }
    const ratio = target[2] / source[2];
    context.imageSmoothingEnabled = Math.abs(ratio * (width / view.width) - 1) > 1e-6 && ratio < 8;
    context.drawImage(this.canvas, ...source, ...target);
  }
}
