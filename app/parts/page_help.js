// Help on the visible pages: content, steps, keys and mouse; created on demand.

export const HELP_STYLE = `
dialog { color: #e6edf6; background: #16202e; border: 1px solid #3c4b61; border-radius: 10px;
  padding: 6px 22px 18px; width: min(620px, calc(100vw - 24px)); max-height: calc(100vh - 48px);
  box-sizing: border-box; overflow-y: auto; font: 14px/1.5 system-ui, sans-serif; }
dialog::backdrop { background: rgba(4, 8, 14, 0.55); }
dialog h2 { font-size: 18px; margin: 14px 0 6px; }
dialog p, dialog ol { margin: 0 0 10px; }
dialog ol { padding-left: 22px; list-style: decimal; }
dialog li, dialog li:hover { display: list-item; padding: 0; cursor: inherit; background: none; }
dialog dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0 18px; margin: 0; }
dialog dt { font-weight: 600; color: #f3c26b; }
dialog dd { margin: 0; }
dialog .shut { float: right; margin: 10px -10px 0 8px; padding: 4px 9px; font-size: 18px; }
dialog .shut:hover { background: rgba(160, 180, 210, 0.18); }
@media (max-width: 480px) { dialog dl { grid-template-columns: 1fr; }
  dialog dd { margin: 0 0 6px; } }
`;
const EVERYWHERE = [
  ["Alt + \u2190 \u2192", "back and forward through the history"],
  ["Tab, Enter", "to the next field, button or table; press it"],
  ["\u2193 \u2191, Enter", "in a table: move through the rows, choose one (Space: tick it)"],
  ["\u2191, \u2190 \u2192, Enter", "above the first row: choose a column, sort by it"],
  ["?, Esc", "this help; close it"],
];

function isField(element) {
  return element.matches?.("input, textarea, select") || element.isContentEditable;
}

function make(tag, ...content) {
  const element = document.createElement(tag);
  element.append(...content);
  return element;
}

export class PageHelp {
  constructor(model, place) {
    this.model = model;
    this.place = place;
    this.dialog = null;
    this.onKey = (event) => {
      const hasOther = event.ctrlKey || event.metaKey || event.altKey;
      if (event.key === "?" && !hasOther && !isField(event.composedPath()[0])) {
        event.preventDefault();
        this.turn();
      }
    };
    window.addEventListener("keydown", this.onKey);
    model.on("msg:custom", ({ help }) => help && this.show(help));
    model.on("remove", () => window.removeEventListener("keydown", this.onKey));
  }

  turn() {
    if (this.dialog === null) {
      this.model.send_msg({ act: "help" });
    } else {
      this.dialog.close();
    }
  }

  show(pages) {
    this.dialog?.close();
    const shut = make("button", "\u00d7");
    shut.type = "button";
    shut.className = "shut";
    shut.setAttribute("aria-label", "Close help");
    const dialog = make("dialog", shut);
    pages.forEach(({ title, shows, steps, keys }, at) => {
      const isLast = at === pages.length - 1;
      const rows = [...keys, ...(isLast ? EVERYWHERE : [])];
      dialog.append(
        make("h2", title),
        make("p", shows),
        make("ol", ...steps.map((step) => make("li", step))),
        make("dl", ...rows.flatMap(([key, does]) => [make("dt", key), make("dd", does)])),
      );
    });
    dialog.setAttribute("aria-label", `Help: ${pages.map(({ title }) => title).join(", ")}`);
    shut.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      this.dialog = this.dialog === dialog ? null : this.dialog;
    });
    this.place.append(dialog);
    this.dialog = dialog;
    dialog.showModal();
  }
}
