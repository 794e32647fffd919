// The header's search field with suggestions and results, the history buttons, and help.

import { HELP_STYLE, PageHelp } from "./page_help.js";

const STYLE = `
:host { display: block; }
form { display: flex; align-items: center; gap: 2px; margin: 0; max-width: 520px; }
button { font: inherit; color: inherit; cursor: pointer; background: none; border: none;
  border-radius: 6px; }
button:focus-visible, input:focus-visible { outline: 2px solid #56b4e9; outline-offset: 1px; }
.way { display: inline-flex; padding: 6px; color: #e3eaf3; }
.way:hover { background: rgba(160, 180, 210, 0.18); }
.way[aria-disabled="true"] { opacity: 0.35; cursor: default; background: none; }
svg { width: 20px; height: 20px; fill: currentColor; display: block; }
input { font: 14px system-ui, sans-serif; color: #f2f6fb; background: rgba(160, 180, 210, 0.12);
  border: 1px solid #5a6b84; border-radius: 8px; padding: 8px 10px; min-width: 0; width: 100%;
  box-sizing: border-box; }
input { text-overflow: ellipsis; }
input::placeholder { color: #b3c0d2; opacity: 1; }
@media (max-width: 1150px) {
  form { justify-content: flex-end; gap: 0; }
  .way { padding: 4px; }
  form:has(input:focus) .way { display: none; }
  input:focus { flex: none; width: 270px; position: relative; z-index: 5; background: #1d2937; }
}
.below { position: fixed; z-index: 2000; background: #16202e; color: #e6edf6;
  border: 1px solid #3c4b61; border-radius: 8px; box-shadow: 0 8px 28px rgba(0, 0, 0, 0.45);
  font: 13px/1.4 system-ui, sans-serif; font-variant-numeric: tabular-nums; padding: 4px;
  box-sizing: border-box; max-height: 70vh; overflow-y: auto; }
.below[hidden] { display: none; }
ul { list-style: none; margin: 0; padding: 0; }
li { display: flex; justify-content: space-between; gap: 16px; padding: 6px 9px; cursor: pointer;
  border-radius: 5px; overflow-wrap: anywhere; }
li[aria-selected="true"], li:hover { background: #2b3d56; }
li span { color: #a9b8cc; flex: none; }
.found { padding: 5px 8px 7px; }
.head { display: flex; align-items: baseline; gap: 8px; }
.head b { overflow-wrap: anywhere; font-weight: 600; font-size: 13.5px; }
.head span { color: #b3c0d2; }
.close { margin-left: auto; padding: 2px 6px; flex: none; }
.found p { margin: 3px 0; color: #c6d2e2; overflow-wrap: anywhere; }
.acts { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 6px; }
.acts button { border: 1px solid #56708f; padding: 4px 9px; font-size: 12.5px; max-width: 100%;
  overflow-wrap: anywhere; text-align: left; }
.acts button:hover { background: #2b3d56; }
.acts .light { border-color: #4fb3e8; color: #7cc8f2; font-weight: 600; }
`;
const BACK = "M20 11H7.8l5.6-5.6L12 4l-8 8 8 8 1.4-1.4L7.8 13H20z";
const HELP = "M11 18h2v-2h-2zm1-16a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm0 18a8 8 0 1 1 0-16 8 8 0 0 1 0 16zm0-14a4 4 0 0 0-4 4h2a2 2 0 1 1 4 0c0 2-3 1.75-3 5h2c0-2.25 3-2.5 3-5a4 4 0 0 0-4-4z";
const FORWARD = "M4 11h12.2l-5.6-5.6L12 4l8 8-8 8-1.4-1.4L16.2 13H4z";
const BACK_WORDS = "Back to where you were (Alt+Left)";
const FORWARD_WORDS = "Forward again (Alt+Right)";
const WAIT_MILLISECONDS = 120;
const HINT = "Find a node, place, gene, k-mer, SNP or guide";

function make(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

function makeWay(label, shape, act) {
  const button = make("button", "way");
  button.type = "button";
  button.title = label;
  button.setAttribute("aria-label", label);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", shape);
  svg.append(path);
  button.append(svg);
  button.addEventListener("click", act);
  return button;
}

// Set a button's label, with the reason if it is disabled.
function tell(button, words, whyNot) {
  button.setAttribute("aria-disabled", String(whyNot !== ""));
  button.title = whyNot ? `${words}: ${whyNot}` : words;
  button.setAttribute("aria-label", button.title);
}

// Current and last index in the history, as maintained by address_bar.js.
function readPlace() {
  const at = window.history.state?.genoviz ?? 0;
  const top = Math.max(Number(window.sessionStorage.getItem("genoviz-top") ?? 0), at);
  return { at, top };
}

class Field {
  constructor(model) {
    this.model = model;
    this.timer = null;
    this.names = [];
    this.chosen = -1;
    this.form = make("form", "");
    this.form.setAttribute("role", "search");
    this.input = make("input", "");
    this.below = make("div", "below");
    this.below.hidden = true;
    this.back = makeWay(BACK_WORDS, BACK, () => this.walk(-1));
    this.forward = makeWay(FORWARD_WORDS, FORWARD, () => this.walk(1));
    const { input } = this;
    input.type = "text";
    input.autocomplete = "off";
    input.spellcheck = false;
    input.placeholder = HINT;
    input.title =
      "A node's name; path:start-end or contig:start-end (the first base is 1, both ends belong to it); a gene or " +
      "feature; a SNP's ID; the letters of a k-mer or of a guide. Enter finds it.";
    for (const [name, value] of Object.entries({
      role: "combobox",
      "aria-label": HINT,
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": "names",
    })) {
      input.setAttribute(name, value);
    }
    this.list = make("ul", "");
    this.list.id = "names";
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Suggestions");
    this.card = make("div", "found");
    this.card.setAttribute("role", "status");
    this.below.append(this.list, this.card);
    this.help = new PageHelp(model, this.form);
    const ask = makeWay("Help: what this page shows, its steps, keys and mouse (?)", HELP, () =>
      this.help.turn(),
    );
    this.form.append(this.back, this.forward, input, ask, this.below);
    this.listen();
    this.showNames([]);
    this.showWays();
  }

  listen() {
    const { input, form, model } = this;
    input.addEventListener("input", () => this.type());
    input.addEventListener("keydown", (event) => this.onKey(event));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("focusout", (event) => {
      if (!form.contains(event.relatedTarget)) {
        this.showNames([]);
      }
    });
    this.onOutside = (event) => {
      if (!event.composedPath().includes(form) && !this.below.hidden) {
        this.card.replaceChildren();
        this.showNames([]);
      }
    };
    window.addEventListener("pointerdown", this.onOutside, true);
    this.onWindowKey = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.altKey && !event.ctrlKey && !event.metaKey && step) {
        event.preventDefault();
        this.walk(step);
      }
    };
    this.onMoved = () => {
      this.showWays();
    };
    window.addEventListener("keydown", this.onWindowKey);
    window.addEventListener("popstate", this.onMoved);
    window.addEventListener("genoviz-moved", this.onMoved);
    this.onResize = () => this.place();
    window.addEventListener("resize", this.onResize);
    model.on("suggestions", () => {
      const { text, names } = model.suggestions;
      if (text === input.value.trim() && form.getRootNode().activeElement === input) {
        this.showNames(names);
      }
    });
    model.on("found", () => this.showFound());
    model.on("remove", () => {
      window.removeEventListener("keydown", this.onWindowKey);
      window.removeEventListener("popstate", this.onMoved);
      window.removeEventListener("genoviz-moved", this.onMoved);
      window.removeEventListener("resize", this.onResize);
      window.removeEventListener("pointerdown", this.onOutside, true);
    });
  }

  walk(step) {
    const { at, top } = readPlace();
    if (at + step >= 0 && at + step <= top) {
      window.history.go(step);
    }
  }

  showWays() {
    const { at, top } = readPlace();
    tell(this.back, BACK_WORDS, at <= 0 ? "this is the first view" : "");
    tell(this.forward, FORWARD_WORDS, at >= top ? "this is the newest view" : "");
  }

  type() {
    clearTimeout(this.timer);
    const text = this.input.value.trim();
    if (text === "") {
      this.showNames([]);
      return;
    }
    this.timer = setTimeout(() => this.model.send_msg({ act: "type", text }), WAIT_MILLISECONDS);
  }

  find(text) {
    clearTimeout(this.timer);
    this.showNames([]);
    if (text.trim() !== "") {
      this.model.send_msg({ act: "find", text: text.trim() });
    }
  }

  onKey(event) {
    const { names } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && names.length && !event.altKey) {
      event.preventDefault();
      this.chosen = (this.chosen + step + names.length + (this.chosen < 0 && step < 0)) % names.length;
      this.mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (this.chosen >= 0) {
        this.input.value = names[this.chosen][0];
      }
      this.find(this.input.value);
    } else if (event.key === "Escape") {
      if (names.length) {
        this.showNames([]);
      } else {
        this.model.send_msg({ act: "close" });
      }
    }
  }

  showNames(names) {
    this.names = names;
    this.chosen = -1;
    this.list.replaceChildren(
      ...names.map(([name, kind], row) => {
        const item = make("li", "", name);
        item.id = `name${row}`;
        item.setAttribute("role", "option");
        item.append(make("span", "", kind));
        item.addEventListener("mousedown", (event) => {
          event.preventDefault();
          this.input.value = name;
          this.find(name);
        });
        return item;
      }),
    );
    this.mark();
    this.place();
  }

  mark() {
    [...this.list.children].forEach((item, row) => {
      item.setAttribute("aria-selected", String(row === this.chosen));
    });
    if (this.chosen >= 0) {
      this.input.setAttribute("aria-activedescendant", `name${this.chosen}`);
    } else {
      this.input.removeAttribute("aria-activedescendant");
    }
  }

  showFound() {
    const { title, kind, place, also, can_light: canLight, choices, more } = this.model.found;
    if (title === undefined) {
      this.card.replaceChildren();
      this.place();
      return;
    }
    const head = make("div", "head");
    const close = make("button", "close", "×");
    close.type = "button";
    close.setAttribute("aria-label", "Close the result");
    close.addEventListener("click", () => this.model.send_msg({ act: "close" }));
    head.append(make("b", "", title), make("span", "", kind), close);
    const parts = [head];
    if (place) {
      parts.push(make("p", "", place));
    }
    if (also) {
      parts.push(make("p", "", `Also here: ${also}`));
    }
    const acts = make("div", "acts");
    if (canLight) {
      const light = make("button", "light", "Light up");
      light.type = "button";
      light.addEventListener("click", () => this.model.send_msg({ act: "light" }));
      acts.append(light);
    }
    choices.forEach((label, row) => {
      const button = make("button", "", label);
      button.type = "button";
      button.addEventListener("click", () => this.model.send_msg({ act: "choose", row: row + 1 }));
      acts.append(button);
    });
    parts.push(acts);
    if (more) {
      parts.push(make("p", "more", more));
    }
    this.card.replaceChildren(...parts);
    this.place();
  }

  // Below the field as an overlay; inside the header it would be clipped.
  place() {
    const hasNames = this.names.length > 0;
    const hasFound = this.card.childElementCount > 0;
    this.list.hidden = !hasNames;
    this.card.hidden = !hasFound || hasNames;
    this.input.setAttribute("aria-expanded", String(hasNames));
    this.below.hidden = !hasNames && !hasFound;
    if (!this.below.hidden) {
      const { left, bottom, width } = this.input.getBoundingClientRect();
      const wide = Math.min(Math.max(width, 300), window.innerWidth - 16);
      this.below.style.width = `${wide}px`;
      this.below.style.top = `${bottom + 5}px`;
      this.below.style.left = `${Math.min(left, window.innerWidth - wide - 8)}px`;
    }
  }
}

export function render({ model }) {
  const style = document.createElement("style");
  style.textContent = STYLE + HELP_STYLE;
  const field = new Field(model);
  const place = document.createElement("div");
  place.append(style, field.form);
  return place;
}
