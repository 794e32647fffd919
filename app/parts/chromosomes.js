// The table of all chromosomes: bar, layout thumbnail, figures. A click on a row, or Enter on its
// name, opens it; the field above filters by name.

const STYLE = `
:host { color: inherit; }
.place { position: absolute; inset: 0; overflow: auto; padding: 10px 14px; box-sizing: border-box;
  font-size: 13px; font-variant-numeric: tabular-nums; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 16px; margin: 0 0 8px; }
h2 { font-size: 17px; font-weight: 600; margin: 0; }
input { font: inherit; color: inherit; background: rgba(128, 145, 170, 0.12); width: 15em;
  border: 1px solid rgba(128, 145, 170, 0.6); border-radius: 6px; padding: 5px 9px; }
input:focus-visible, button:focus-visible { outline: 2px solid #3f9fd6; outline-offset: 1px; }
.status { opacity: 0.8; }
.note { margin: 0 0 8px; line-height: 1.6; }
.note:empty { display: none; }
code { background: rgba(128, 145, 170, 0.18); border-radius: 4px; padding: 1px 5px; }
table { border-collapse: collapse; width: 100%; }
thead th { font-weight: 500; opacity: 0.75; text-align: right; padding: 2px 8px; }
thead th.left { text-align: left; }
td, tbody th { padding: 1px 8px; text-align: right; white-space: nowrap; height: 31px;
  border-top: 1px solid rgba(128, 145, 170, 0.16); }
tbody th { text-align: left; }
tbody tr { cursor: pointer; }
tbody tr:hover { background: rgba(128, 145, 170, 0.14); }
tbody tr[aria-busy="true"] { background: rgba(63, 159, 214, 0.22); }
button { font: inherit; font-weight: 600; color: inherit; background: none; border: none;
  cursor: pointer; border-radius: 4px; padding: 4px 6px; margin-left: -6px; min-height: 26px; }
.bar { width: 40%; min-width: 90px; }
.bar div { height: 12px; border-radius: 6px; min-width: 3px; background: #3f9fd6; }
.layout { width: 164px; text-align: left; white-space: normal; }
img { width: 160px; height: 28px; display: block; background: #0b1018; border-radius: 4px; }
.missing { opacity: 0.75; font-size: 12px; line-height: 14px; max-height: 28px;
  overflow: hidden; display: block; width: 160px; }
@media (max-width: 899px) { .place { position: static; } }
@container (max-width: 640px) { .bar, .paths { display: none; } }
`;
const HEADS = [
  ["Chromosome", "left"],
  ["", "bar"],
  ["Length", "length"],
  ["Layout", "left layout"],
  ["Nodes", "nodes"],
  ["Paths", "paths"],
  ["Mean depth", "depth"],
  ["Path stress", "stress"],
];

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function cell(row, className, [text, title] = ["", ""]) {
  const made = make("td", className, text);
  if (title) made.title = title;
  row.append(made);
  return made;
}

function makeRow(model, item) {
  const row = make("tr");
  row.dataset.name = item.name;
  const name = make("th");
  name.scope = "row";
  const button = make("button", "", item.name);
  button.type = "button";
  button.title = `Open ${item.name}`;
  name.append(button);
  row.append(name);
  const place = cell(row, "bar");
  if (item.share > 0) {
    const bar = make("div");
    bar.style.width = `${100 * item.share}%`;
    place.append(bar);
  }
  cell(row, "length", item.length);
  const layout = cell(row, "layout");
  if (item.picture) {
    const image = make("img");
    image.src = item.picture;
    image.alt = `Layout of ${item.name}`;
    layout.append(image);
  } else {
    layout.append(make("span", "missing", item.missing));
    layout.title = item.missing;
  }
  for (const key of ["nodes", "paths", "depth", "stress"]) cell(row, key, item[key]);
  // The button is inside the row, so its clicks arrive here too.
  row.addEventListener("click", () => {
    row.setAttribute("aria-busy", "true");
    model.send_msg({ act: "open", name: item.name });
  });
  row.setAttribute("aria-busy", String(item.name === model.busy));
  return row;
}

export function render({ model }) {
  const place = make("div", "place");
  const head = make("div", "head");
  const title = make("h2");
  const search = make("input");
  search.type = "search";
  search.placeholder = "Find: 7, X, chr21";
  search.setAttribute("aria-label", "Find a chromosome by its name");
  const status = make("span", "status");
  status.setAttribute("role", "status");
  head.append(title, search, status);
  const table = make("table");
  table.setAttribute("aria-label", "Chromosomes");
  const names = make("tr");
  const heads = HEADS.map(([text, className]) => {
    const made = make("th", className, text);
    made.scope = "col";
    return made;
  });
  heads[1].setAttribute("aria-hidden", "true");
  names.append(...heads);
  const top = make("thead");
  const body = make("tbody");
  top.append(names);
  table.append(top, body);
  const note = make("p", "note");

  let left = "";
  let wasShown = false;
  const seen = new ResizeObserver(() => {
    const isShown = place.clientHeight > 0;
    const row = [...body.children].find((each) => each.dataset.name === left);
    if (isShown && !wasShown && row) row.querySelector("button").focus();
    wasShown = isShown;
  });

  const found = () => {
    const text = search.value.trim().toLowerCase();
    const exact = [text, `chr${text}`];
    const all = model.rows.map((item) => item.name);
    const same = all.filter((name) => exact.includes(name.toLowerCase()));
    return same.length ? same : all.filter((name) => name.toLowerCase().includes(text));
  };
  const sieve = () => {
    const shown = found();
    for (const row of body.children) row.hidden = !shown.includes(row.dataset.name);
    const isSieved = search.value.trim() !== "";
    status.textContent = isSieved
      ? `${shown.length} of ${model.rows.length}`
      : model.status;
  };
  const show = () => {
    const focused = place.getRootNode().activeElement?.closest?.("tr")?.dataset.name;
    body.replaceChildren(...model.rows.map((item) => makeRow(model, item)));
    for (const row of body.children) {
      if (focused && row.dataset.name === focused) row.querySelector("button").focus();
    }
    sieve();
  };
  const say = () => {
    title.textContent = model.title;
    [heads[2].textContent, heads[2].title] = model.length_head;
    note.replaceChildren();
    const [words, command] = model.note;
    if (words) note.append(words, " ", make("code", "", command));
  };
  search.addEventListener("input", sieve);
  search.addEventListener("keydown", (event) => {
    const [first] = found();
    if (event.key === "Enter" && first) model.send_msg({ act: "open", name: first });
  });
  show();
  say();
  model.on("rows", show);
  model.on("status", sieve);
  for (const name of ["title", "length_head", "note"]) model.on(name, say);
  // Restore keyboard focus to the chromosome that was left.
  model.on("busy", () => {
    left = model.busy || left;
    for (const row of body.children) {
      row.setAttribute("aria-busy", String(row.dataset.name === model.busy));
    }
  });
  const style = make("style");
  style.textContent = STYLE;
  place.append(head, note, table);
  const root = make("div");
  root.style.cssText = "position: relative; width: 100%; height: 100%;";
  root.append(style, place);
  seen.observe(place);
  return root;
}
