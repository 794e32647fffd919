// Labels in the picture without overlaps; earlier labels take precedence.

const FONT = "system-ui, sans-serif";
const GROUND = "rgba(11, 16, 24, 0.88)";
const HALO = "rgba(11, 16, 24, 0.9)";
const TEXT = "#e8eef6";
const LONGEST = 28;
const REACHES = [28, 52, 80];
const DIRECTIONS = [-0.5, 0.5, -0.25, -0.75, 0.25, 0.75, 0, 1];

export class Labels {
  constructor(context, view) {
    this.context = context;
    this.view = view;
    this.taken = [];
    this.words = [];
    this.placed = [];
    this.leaders = [];
  }

  // Reserve a rectangle without labels.
  block(x, y, width, height) {
    this.taken.push([x, y, x + width, y + height]);
  }

  // Find a position for a label above a point, or below or beside it, if there is room. The point
  // is on a line that falls (1) or rises (-1) to the right, or on neither (0). A label with
  // a leader line may be farther away if there is no room next to its point. One with a key can be
  // clicked.
  place(text, x, y, look = {}) {
    const { colour = TEXT, size = 12, weight = 400, gap = 10, lean = 0, mayLead = false } = look;
    const { key = -1 } = look;
    const { context, view } = this;
    if (x < 0 || y < 0 || x > view.width || y > view.height) {
      return false;
    }
    const shown = text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
    context.font = `${weight} ${size}px ${FONT}`;
    const width = context.measureText(shown).width;
    const height = size * 1.2;
    const near = gap * 0.7;
    const corners =
      lean > 0
        ? [
            [x + near, y - near - height],
            [x - near - width, y + near],
          ]
        : [
            [x - near - width, y - near - height],
            [x + near, y + near],
          ];
    const beside = [
      ...(lean === 0 ? [] : corners),
      [x - width / 2, y - gap - height],
      [x - width / 2, y + gap],
      [x + gap, y - height / 2],
      [x - gap - width, y - height / 2],
    ];
    const places = mayLead ? [...beside, ...farPlaces(x, y, width, height)] : beside;
    for (const [i, [left, top]] of places.entries()) {
      const box = [left - 2, top - 1, left + width + 2, top + height + 1];
      const isInside = box[0] >= 0 && box[1] >= 0 && box[2] <= view.width && box[3] <= view.height;
      if (isInside && !this.taken.some((other) => overlap(box, other))) {
        this.taken.push(box);
        if (key >= 0) {
          this.placed.push({ box, key, text });
        }
        if (i >= beside.length) {
          this.leaders.push([x, y, box, colour]);
        }
        this.words.push([shown, left, top + 1, context.font, colour]);
        return true;
      }
    }
    return false;
  }

  // Draw the placed labels above their leader lines.
  write() {
    const { context } = this;
    for (const leader of this.leaders) {
      drawLeader(context, ...leader);
    }
    context.textAlign = "left";
    context.textBaseline = "top";
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    context.strokeStyle = HALO;
    for (const [text, left, top, font, colour] of this.words) {
      context.font = font;
      context.strokeText(text, left, top);
      context.fillStyle = colour;
      context.fillText(text, left, top);
    }
  }
}

// Candidate positions of a label around a point, at increasing distance: left and top.
function farPlaces(x, y, width, height) {
  return REACHES.flatMap((reach) =>
    DIRECTIONS.map((direction) => {
      const [dx, dy] = [Math.cos(direction * Math.PI), Math.sin(direction * Math.PI)];
      const left = x + reach * dx - width * (Math.abs(dx) < 0.1 ? 0.5 : Number(dx < 0));
      return [left, y + reach * dy - height / 2];
    }),
  );
}

// A thin line from a point to the nearest point of a box.
function drawLeader(context, x, y, [left, top, right, bottom], colour) {
  const toX = Math.min(Math.max(x, left), right);
  const toY = Math.min(Math.max(y, top), bottom);
  context.lineCap = "round";
  for (const [style, width] of [
    [HALO, 3],
    [colour, 1],
  ]) {
    context.strokeStyle = style;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
  }
  context.lineCap = "butt";
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, 2, 0, 2 * Math.PI);
  context.fill();
}

function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

// A box of text lines beside the pointer, within the view.
export function drawTooltip(context, view, x, y, text) {
  const lines = text.split("\n");
  context.font = `12px ${FONT}`;
  const width = Math.max(...lines.map((line) => context.measureText(line).width)) + 16;
  const height = lines.length * 17 + 10;
  const left = x + 14 + width > view.width ? x - 14 - width : x + 14;
  const top = y + 14 + height > view.height ? y - 14 - height : y + 14;
  context.fillStyle = GROUND;
  context.strokeStyle = "#45566e";
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(Math.round(left) + 0.5, Math.round(top) + 0.5, width, height, 4);
  context.fill();
  context.stroke();
  context.fillStyle = TEXT;
  context.textAlign = "left";
  context.textBaseline = "top";
  lines.forEach((line, i) => {
    context.font = `${i === 0 ? 600 : 400} 12px ${FONT}`;
    context.fillText(line, left + 8, top + 7 + 17 * i);
  });
}
