// Names, scales and values beside the lanes; dragging a name moves its lane.

const DRAG_PIXELS = 4;
const EDGE_PIXELS = 6;
const OVERLAY_SHARE = 0.3;
const HEIGHT_MILLISECONDS = 60;

function make(kind, className, text = "") {
  const element = document.createElement(kind);
  element.className = className;
  element.textContent = text;
  return element;
}

export class Margin {
  constructor(root, send) {
    this.root = root;
    this.send = send;
    this.lanes = [];
    this.key = "";
    this.values = {};
    this.drag = null;
    this.told = 0;
    this.mark = make("div", "mark");
    root.addEventListener("pointerdown", (event) => this._onDown(event));
    root.addEventListener("pointermove", (event) => this._onMove(event));
    root.addEventListener("pointerup", (event) => this._onUp(event));
    root.addEventListener("pointercancel", () => this._endDrag());
  }

  show(lanes, hidden, height) {
    this.lanes = lanes;
    this.root.style.height = `${height}px`;
    const shape = lanes.map(({ top, bottom, rows }) => [
      top, bottom, rows.map(({ id, title, colour, is_chosen: isChosen }) => [id, title, colour, isChosen]),
    ]);
    const key = JSON.stringify([shape, hidden]);
    if (key !== this.key && this.drag === null) {
      this.key = key;
      this._build(lanes, hidden, height);
    }
    this.cells?.forEach((cell, i) => {
      if (lanes[i] !== undefined) {
        cell.querySelector(".note").textContent = lanes[i].note;
        cell.title = lanes[i].hint;
      }
    });
    this.showValues(this.values);
  }

  _build(lanes, hidden, height) {
    this.root.replaceChildren(this.mark);
    this.mark.hidden = true;
    this.cells = lanes.map((lane) => this._cell(lane));
    this.root.append(...this.cells);
    if (hidden.length) {
      const list = make("div", "hidden-tracks", "Hidden: ");
      list.style.top = `${height}px`;
      for (const { id, title } of hidden) {
        const button = make("button", "", title);
        button.title = `Show ${title} again`;
        button.addEventListener("click", () => this.send({ kind: "hide", track: id, is_hidden: false }));
        list.append(button);
      }
      this.root.append(list);
    }
  }

  _cell(lane) {
    const cell = make("div", "row");
    cell.style.top = `${lane.top}px`;
    cell.style.height = `${lane.bottom - lane.top}px`;
    for (const row of lane.rows) {
      const line = make("div", row.is_chosen ? "track chosen" : "track");
      line.dataset.track = row.id;
      line.style.borderLeftColor = row.colour;
      const name = make("b", "", row.short);
      name.title = `${row.title}: drag to reorder, or onto a track to overlay both`;
      line.append(name, this._buttons(row));
      const value = make("span", "value");
      value.dataset.track = row.id;
      line.append(value);
      cell.append(line);
    }
    const note = make("span", "note", lane.note);
    if (lane.rows.length > 1) {
      cell.append(note);
    } else {
      cell.firstChild.insertBefore(note, cell.firstChild.lastChild);
    }
    return cell;
  }

  _buttons({ id, title }) {
    const box = make("span", "buttons");
    for (const [sign, words, message] of [
      ["–", `Hide ${title}`, { kind: "hide", track: id, is_hidden: true }],
      ["×", `Take ${title} away`, { kind: "remove", track: id }],
    ]) {
      const button = make("button", "", sign);
      button.title = words;
      button.setAttribute("aria-label", words);
      button.addEventListener("click", () => this.send(message));
      box.append(button);
    }
    return box;
  }

  // The value of each track under the pointer.
  showValues(values) {
    this.values = values;
    for (const place of this.root.querySelectorAll(".value")) {
      place.textContent = values[place.dataset.track] ?? "";
    }
  }

  _place(event) {
    return event.clientY - this.root.getBoundingClientRect().top;
  }

  _laneAt(y) {
    return this.lanes.find((lane) => lane.top <= y && y < lane.bottom) ?? null;
  }

  _edgeAt(y) {
    return this.lanes.find((lane) => Math.abs(lane.bottom - 2 - y) < EDGE_PIXELS / 2 + 1) ?? null;
  }

  _onDown(event) {
    const line = event.target.closest(".track");
    if (event.button !== 0 || event.target.closest("button") !== null) {
      return;
    }
    const y = this._place(event);
    const edge = this._edgeAt(y);
    if (edge !== null) {
      this.drag = { lane: edge, start: y, height: edge.bottom - edge.top };
    } else if (line !== null) {
      this.drag = { track: line.dataset.track, start: y, isMoved: false };
    } else {
      return;
    }
    this.root.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  _onMove(event) {
    const y = this._place(event);
    const { drag } = this;
    if (drag === null) {
      this.root.style.cursor = this._edgeAt(y) !== null ? "ns-resize" : "grab";
    } else if (drag.lane !== undefined) {
      this._resize(y, performance.now() - this.told > HEIGHT_MILLISECONDS);
    } else {
      drag.isMoved ||= Math.abs(y - drag.start) >= DRAG_PIXELS;
      if (drag.isMoved) {
        this.root.style.cursor = "grabbing";
        this._showMark(this._target(y));
      }
    }
  }

  _resize(y, isTold) {
    if (isTold) {
      this.told = performance.now();
      const { lane, start, height } = this.drag;
      this.send({ kind: "height", track: lane.rows[0].id, height: Math.round(height + y - start) });
    }
  }

  // Where a dragged track would go: before a lane, after the last one, or onto one.
  _target(y) {
    const { track } = this.drag;
    const lane = this._laneAt(y);
    if (lane === null) {
      return { before: null, top: y < 0 ? 0 : (this.lanes.at(-1)?.bottom ?? 0) };
    }
    const share = (y - lane.top) / (lane.bottom - lane.top);
    const source = this.lanes.find(({ rows }) => rows.some(({ id }) => id === track));
    const canShare = lane.has_values && (source?.has_values ?? false) && lane !== source;
    if (canShare && share > OVERLAY_SHARE && share < 1 - OVERLAY_SHARE) {
      return { onto: lane.rows.at(-1).id, top: lane.top, height: lane.bottom - lane.top };
    }
    const next = this.lanes[this.lanes.indexOf(lane) + 1];
    return share < 0.5
      ? { before: lane.rows[0].id, top: lane.top }
      : { before: next?.rows[0].id ?? null, top: lane.bottom };
  }

  _showMark({ onto, top, height }) {
    this.mark.hidden = false;
    this.mark.className = onto === undefined ? "mark" : "mark onto";
    this.mark.textContent = onto === undefined ? "" : "overlay";
    this.mark.style.top = `${onto === undefined ? top - 1 : top}px`;
    this.mark.style.height = `${onto === undefined ? 2 : height}px`;
  }

  _onUp(event) {
    const { drag } = this;
    if (drag === null) {
      return;
    }
    const y = this._place(event);
    if (drag.lane !== undefined) {
      this._resize(y, true);
    } else if (drag.isMoved) {
      const { before = null, onto = null } = this._target(y);
      this.send({ kind: "place", track: drag.track, before, onto });
    } else {
      this.send({ kind: "choose", track: drag.track });
    }
    this._endDrag();
  }

  _endDrag() {
    this.drag = null;
    this.mark.hidden = true;
    this.root.style.cursor = "";
  }
}
