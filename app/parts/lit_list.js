// The list of highlights as a row of names with counts; a click on a name goes to its position.

const STYLE = `
ul { display: flex; flex-wrap: wrap; gap: 4px 6px; margin: 0; padding: 0; list-style: none;
  max-height: 66px; overflow-y: auto; font-size: 12.5px; font-variant-numeric: tabular-nums; }
li { display: flex; align-items: center; border: 1px solid rgba(128, 145, 170, 0.5);
  border-left: 5px solid var(--colour); border-radius: 6px; min-width: 0; max-width: 100%; }
li.hidden { border-left-style: dotted; }
li.hidden .go { opacity: 0.6; text-decoration: line-through; }
button { font: inherit; color: inherit; background: none; border: none; cursor: pointer;
  padding: 3px 7px; border-radius: 4px; min-height: 26px; }
button:hover { background: rgba(128, 145, 170, 0.22); }
button:focus-visible { outline: 2px solid #3f9fd6; outline-offset: -2px; }
.go { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0;
  text-align: left; }
.go b { font-weight: 600; }
.small { flex: none; display: inline-flex; align-items: center; padding: 3px 5px; }
svg { width: 16px; height: 16px; fill: currentColor; display: block; }
.clear { border: 1px solid rgba(128, 145, 170, 0.5); border-radius: 6px; }
`;
const PATHS = {
  seen: "M12 5C6.5 5 2.6 9.6 1.5 12c1.1 2.4 5 7 10.5 7s9.4-4.6 10.5-7C21.4 9.6 17.5 5 12 5zm0 11.5A4.5 4.5 0 1 1 12 7.5a4.5 4.5 0 0 1 0 9zm0-2A2.5 2.5 0 1 0 12 9.5a2.5 2.5 0 0 0 0 5z",
  close: "M18.3 5.7 12 12l6.3 6.3-1.4 1.4L10.6 13.4 4.3 19.7 2.9 18.3 9.2 12 2.9 5.7 4.3 4.3l6.3 6.3 6.3-6.3z",
};

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

function makeButton(className, label, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = className;
  button.title = label;
  button.setAttribute("aria-label", label);
  button.addEventListener("click", act);
  return button;
}

export function render({ model }) {
  const style = document.createElement("style");
  style.textContent = STYLE;
  const list = document.createElement("ul");
  list.setAttribute("aria-label", "Lit up");

  const makeItem = ({ key, title, words, colour, is_hidden: isHidden }) => {
    const item = document.createElement("li");
    item.style.setProperty("--colour", colour);
    item.classList.toggle("hidden", isHidden);
    item.dataset.colour = colour;
    const go = makeButton("go", `${title}: ${words}. Show its place`, () =>
      model.send_msg({ act: "go", key }),
    );
    const name = document.createElement("b");
    name.textContent = title;
    go.append(name, `: ${words}`);
    const hide = makeButton("small", isHidden ? `Show ${title}` : `Hide ${title}`, () =>
      model.send_msg({ act: "hide", key, is_hidden: !isHidden }),
    );
    hide.setAttribute("aria-pressed", String(isHidden));
    hide.append(icon("seen"));
    const remove = makeButton("small", `Remove ${title}`, () =>
      model.send_msg({ act: "remove", key }),
    );
    remove.append(icon("close"));
    item.append(go, hide, remove);
    return item;
  };

  const show = () => {
    const items = model.items.map(makeItem);
    if (items.length > 1) {
      const last = document.createElement("li");
      last.style.border = "none";
      const clear = makeButton("clear", "Clear all highlights", () =>
        model.send_msg({ act: "clear" }),
      );
      clear.textContent = "Clear all";
      last.append(clear);
      items.push(last);
    }
    list.replaceChildren(...items);
  };
  show();
  model.on("items", show);
  const place = document.createElement("div");
  place.append(style, list);
  return place;
}
