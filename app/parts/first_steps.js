// Three steps for new users; once closed, they are not shown again.

const STYLE = `
:host { container-type: inline-size; }
section { display: flex; align-items: center; gap: 8px; margin: 4px 4px 0; padding: 4px 6px 4px 12px;
  border: 1px solid rgba(91, 155, 208, 0.55); border-radius: 8px;
  background: rgba(91, 155, 208, 0.10); font: 12.5px/1.4 system-ui, sans-serif; }
ol { display: flex; flex-wrap: wrap; gap: 2px 22px; margin: 0; padding: 0; flex: 1; list-style: none; }
li b { margin-right: 4px; }
@container (max-width: 1480px) { .more { display: none; } }
@container (max-width: 760px) { ol { column-gap: 12px; } }
button { font: inherit; font-weight: 600; color: inherit; background: none; cursor: pointer;
  border: 1px solid currentColor; border-radius: 6px; padding: 2px 10px; flex: none; }
button:focus-visible { outline: 2px solid #56b4e9; outline-offset: 1px; }
`;
// The text for all windows, one line for the three steps, and further text for larger windows.
const STEPS = [
  ["Run", "lays the graph out", " again and shows it live"],
  ["Zoom", "with the wheel", " or two fingers, down to the bases; drag to move", "; click a node",
    " to ask what it is"],
  ["Find", "a gene or a place", ", a node or a k-mer, in the field above"],
];
const KEY = "genoviz-steps";

function isClosed() {
  try { return localStorage.getItem(KEY) !== null } catch { return false }
}

export function render({ el, model }) {
  if (isClosed()) {
    return;
  }
  const style = document.createElement("style");
  style.textContent = STYLE;
  const card = document.createElement("section");
  card.setAttribute("aria-label", "First steps");
  const list = document.createElement("ol");
  STEPS.forEach(([name, ...words], at) => {
    const item = document.createElement("li");
    const title = document.createElement("b");
    title.textContent = `${at + 1}. ${name}`;
    item.append(title);
    words.forEach((text, part) => {
      const span = document.createElement("span");
      span.className = part % 2 ? "more" : "";
      span.textContent = text;
      item.append(span);
    });
    list.append(item);
  });
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Got it";
  button.addEventListener("click", () => {
    try { localStorage.setItem(KEY, "closed") } catch { /* they come again, then */ }
    card.remove();
  });
  card.append(list, button);
  el.append(style, card);
}
