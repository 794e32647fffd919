// Overlays of the picture: scale bars in bp, the overview map, and a hint if nothing is drawn.

const INK = "#d5deea";
const GROUND = "rgba(11, 16, 24, 0.72)";
const FONT = "11px system-ui, sans-serif";
const MAP_WIDTH = 176;
const MAP_HEIGHT = 118;
const MARGIN = 12;

// The largest of 1, 2, 5, 10 ... bp up to a maximum.
export function roundLength(maximum) {
  const power = 10 ** Math.floor(Math.log10(maximum));
  for (const step of [5, 2]) {
    if (step * power <= maximum) {
      return step * power;
    }
  }
  return power;
}

export function lengthText(bp) {
  for (const [factor, unit] of [
    [1e9, "Gbp"],
    [1e6, "Mbp"],
    [1e3, "kbp"],
  ]) {
    if (bp >= factor) {
      return `${Number((bp / factor).toPrecision(6))} ${unit}`;
    }
  }
  return `${Number(bp.toPrecision(6))} bp`;
}

export function drawScaleBars(context, view, isFolded) {
  const right = view.width - MARGIN;
  const bottom = view.height - MARGIN;
  const across = roundLength(Math.min(view.width * 0.2, 150) * view.xScale);
  const width = across / view.xScale;
  let text = lengthText(across);
  if (isFolded) {
    text += " along a row";
  } else if (view.isStretched) {
    text += " across";
  }
  context.font = FONT;
  const textWidth = context.measureText(text).width;
  const boxWidth = Math.max(width, textWidth) + 12;
  context.fillStyle = GROUND;
  context.beginPath();
  context.roundRect(right - boxWidth, bottom - 28, boxWidth, 30, 4);
  context.fill();
  context.strokeStyle = INK;
  context.fillStyle = INK;
  context.lineWidth = 1.5;
  context.beginPath();
  const end = right - 6;
  context.moveTo(end - width, bottom - 8);
  context.lineTo(end - width, bottom - 4);
  context.lineTo(end, bottom - 4);
  context.lineTo(end, bottom - 8);
  context.stroke();
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.fillText(text, end, bottom - 13);
  if (view.isStretched) {
    drawUprightBar(context, view, right - boxWidth - 8, bottom - 4);
  }
  return [right - boxWidth - 70, bottom - 80, boxWidth + 70, 80];
}

function drawUprightBar(context, view, x, bottom) {
  const up = roundLength(Math.min(view.height * 0.2, 64) * view.yScale);
  const height = up / view.yScale;
  context.beginPath();
  context.moveTo(x - 4, bottom);
  context.lineTo(x, bottom);
  context.lineTo(x, bottom - height);
  context.lineTo(x - 4, bottom - height);
  context.stroke();
  context.fillText(`${lengthText(up)} up`, x - 8, bottom - Math.max(height / 2 - 4, 0));
}

export class SmallMap {
  constructor(bitmap) {
    this.bitmap = bitmap;
    this.box = null;
  }

  // Draw the overview map with the view's rectangle; hidden if the view contains everything.
  draw(context, view) {
    const whole = this.bitmap.view;
    this.box = null;
    if (whole === null || view.width < 3 * MAP_WIDTH || view.height < 2 * MAP_HEIGHT) {
      return null;
    }
    const scale = Math.min(MAP_WIDTH / whole.width, MAP_HEIGHT / whole.height);
    const width = whole.width * scale;
    const height = whole.height * scale;
    const left = MARGIN;
    const top = view.height - MARGIN - height;
    this.box = { left, top, width, height };
    context.globalAlpha = 0.93;
    context.imageSmoothingEnabled = true;
    context.drawImage(this.bitmap.canvas, left, top, width, height);
    context.globalAlpha = 1;
    context.strokeStyle = "#45566e";
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
    this._drawFrame(context, view, whole);
    return [left, top, width, height];
  }

  _drawFrame(context, view, whole) {
    const { left, top, width, height } = this.box;
    const x = left + ((view.x0 - whole.x0) / (whole.x1 - whole.x0)) * width;
    const y = top + ((whole.y1 - view.y1) / (whole.y1 - whole.y0)) * height;
    const w = ((view.x1 - view.x0) / (whole.x1 - whole.x0)) * width;
    const h = ((view.y1 - view.y0) / (whole.y1 - whole.y0)) * height;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.strokeStyle = "#f3c26b";
    context.lineWidth = 1.5;
    const [dx, dy] = [Math.max(6 - w, 0), Math.max(6 - h, 0)];
    context.strokeRect(x - dx / 2, y - dy / 2, w + dx, h + dy);
    context.restore();
  }

  contains(px, py) {
    const { box } = this;
    return (
      box !== null &&
      px >= box.left &&
      py >= box.top &&
      px <= box.left + box.width &&
      py <= box.top + box.height
    );
  }

  // The point of the plane at a pixel of the map.
  pointAt(px, py) {
    const { box } = this;
    const whole = this.bitmap.view;
    return [
      whole.x0 + ((px - box.left) / box.width) * (whole.x1 - whole.x0),
      whole.y1 - ((py - box.top) / box.height) * (whole.y1 - whole.y0),
    ];
  }
}

export function drawHint(context, view, text) {
  context.font = "14px system-ui, sans-serif";
  context.fillStyle = "#8fa1b8";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, view.width / 2, view.height / 2);
}

export function drawNotice(context, view, text) {
  context.font = "12px system-ui, sans-serif";
  const width = context.measureText(text).width + 20;
  context.fillStyle = GROUND;
  context.beginPath();
  context.roundRect((view.width - width) / 2, 10, width, 24, 4);
  context.fill();
  context.fillStyle = "#f3c26b";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, view.width / 2, 22);
}
