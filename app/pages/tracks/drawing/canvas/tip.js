// The card that describes a feature: it follows the pointer, or stays after a click.

export class Tip {
  constructor(root, send) {
    this.root = root;
    this.send = send;
    this.isPinned = false;
    this.root.hidden = true;
  }

  get text() {
    return this.root.hidden ? "" : this.root.textContent;
  }

  // Show text at a point of the lanes, or hide it.
  show(tip, x, y) {
    if (this.isPinned) {
      return;
    }
    if (tip === null) {
      this.root.hidden = true;
      return;
    }
    this._fill(tip);
    this._move(x, y);
  }

  pin(tip, x, y) {
    this.close();
    if (tip === null) {
      return;
    }
    this._fill(tip);
    const whole = this._button("Show it whole", () => this.send({ kind: "go", bounds: tip.bounds }));
    const close = this._button("Close", () => this.close());
    this.root.append(whole, close);
    this.root.classList.add("pinned");
    this.isPinned = true;
    this._move(x, y);
  }

  close() {
    this.isPinned = false;
    this.root.classList.remove("pinned");
    this.root.hidden = true;
  }

  _button(text, act) {
    const button = document.createElement("button");
    button.textContent = text;
    button.addEventListener("click", act);
    return button;
  }

  _fill({ title, lines }) {
    const name = document.createElement("b");
    name.textContent = title;
    const rows = lines.map((line) => {
      const row = document.createElement("div");
      row.textContent = line;
      return row;
    });
    this.root.replaceChildren(name, ...rows);
    this.root.hidden = false;
  }

  _move(x, y) {
    const { offsetWidth: width, offsetHeight: height } = this.root;
    const { clientWidth, clientHeight } = this.root.parentElement;
    const left = x + 14 + width > clientWidth ? x - 14 - width : x + 14;
    const top = y + 14 + height > clientHeight ? y - 10 - height : y + 14;
    this.root.style.left = `${Math.max(left, 2)}px`;
    this.root.style.top = `${Math.max(top, 2)}px`;
  }
}
