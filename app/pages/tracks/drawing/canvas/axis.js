// The axis above the tracks, in 1-based positions.

const FONT = "11px system-ui, sans-serif";
const TICK_PIXELS = 120;
const HALF_BASE = 0.5;

// A round tick distance of at least this many bases.
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= least) ?? 10 * power;
}

// 1-based tick positions of a span: the middle of base 1 is at 0.5.
export function findTicks(span) {
  const step = Math.max(roundStep(span.scale * TICK_PIXELS), 1);
  const ticks = [];
  const first = Math.ceil((span.start + HALF_BASE) / step) * step;
  for (let place = first; place - HALF_BASE <= span.end; place += step) {
    if (place > 0) {
      ticks.push(place);
    }
  }
  return ticks;
}

export function positionText(position) {
  return Math.round(position).toLocaleString("en-US");
}

// Draw ticks and labels with their lower edge at a height; skip those near a reserved pixel.
export function drawAxis(context, span, theme, bottom, taken = null) {
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillStyle = theme.faint;
  for (const tick of findTicks(span)) {
    const x = span.toPixel(tick - HALF_BASE);
    context.fillRect(Math.round(x), bottom - 4, 1, 4);
    const text = positionText(tick);
    const half = context.measureText(text).width / 2;
    const at = Math.min(Math.max(x, half + 2), span.width - half - 2);
    if (taken === null || Math.abs(at - taken) > 2 * half + 8) {
      context.fillText(text, at, bottom - 8);
    }
  }
}

// Show the base under the pointer on the axis.
export function drawPosition(context, span, theme, bottom, x) {
  const text = positionText(Math.floor(span.toPosition(x)) + 1);
  context.font = `600 ${FONT}`;
  const width = context.measureText(text).width + 10;
  const left = Math.min(Math.max(x - width / 2, 0), span.width - width);
  context.fillStyle = theme.ink;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillText(text, left + width / 2, bottom - 8);
  context.fillRect(Math.round(x), bottom - 4, 1, 4);
}
