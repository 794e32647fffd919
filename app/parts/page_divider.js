// The divider between the layout and the docked page, which can be dragged or moved by keys. Above
// that page are the names of the pages that can be docked, and buttons to maximize and close it.

import { SEPARATOR_STYLE, makeSeparator } from "./separator.js";

const STYLE = `
:host { pointer-events: none; color: inherit; }
.separator, .head { position: absolute; pointer-events: auto; box-sizing: border-box; }
.head { display: flex; align-items: center; gap: 2px; overflow: hidden; height: 38px;
  padding: 0 4px; font: 13px/1.3 system-ui, sans-serif; }
.beside .separator { left: 0; top: 0; bottom: 0; width: 9px; cursor: col-resize; }
.beside .separator::after { width: 3px; height: 56px; }
.beside .head { left: 9px; right: 0; top: 0; }
.below .separator { left: 0; right: 0; top: 0; height: 9px; cursor: row-resize; }
.below .separator::after { width: 56px; height: 3px; }
.below .head { left: 0; right: 0; top: 7px; height: 36px; }
.names { display: flex; min-width: 0; overflow-x: auto; scrollbar-width: none; margin-right: auto; }
button { font: inherit; color: inherit; background: none; border: none; border-radius: 6px;
  cursor: pointer; padding: 5px 8px; white-space: nowrap; flex: none; }
button:hover { background: rgba(128, 145, 170, 0.22); }
button:focus-visible { outline: 2px solid #3f9fd6; outline-offset: -2px; }
.names button[aria-pressed="true"] { font-weight: 600; box-shadow: inset 0 -2px 0 #3f9fd6;
  border-radius: 6px 6px 0 0; }
.icon { display: inline-flex; padding: 5px; }
svg { width: 18px; height: 18px; fill: currentColor; display: block; }
`;
const FULL = "M7 14H5v5h5v-2H7v-3zM5 10h2V7h3V5H5v5zm12 7h-3v2h5v-5h-2v3zM14 5v2h3v3h2V5h-5z";
const CLOSE =
  "M18.3 5.7 12 12l6.3 6.3-1.4 1.4L10.6 13.4 4.3 19.7 2.9 18.3 9.2 12 2.9 5.7 4.3 4.3l6.3 6.3 6.3-6.3z";
const MIN_SHARE = 20, USUAL = 45, MAX_SHARE = 75;

function make(tag, className, label) {
  const element = document.createElement(tag);
  element.className = className;
  if (label) {
    element.title = label;
    element.setAttribute("aria-label", label);
  }
  return element;
}

function makeIcon(label, shape, act) {
  const button = make("button", "icon", label);
  button.type = "button";
  const [svg, path] = ["svg", "path"].map((tag) =>
    document.createElementNS("http://www.w3.org/2000/svg", tag),
  );
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", shape);
  svg.append(path);
  button.append(svg);
  button.addEventListener("click", act);
  return button;
}

export function render({ model, el }) {
  const style = document.createElement("style");
  style.textContent = SEPARATOR_STYLE + STYLE;
  const all = make("div", "");
  const head = make("div", "head");
  const names = make("div", "names");
  names.setAttribute("role", "group");
  names.setAttribute("aria-label", "Page beside the layout");
  head.append(
    names,
    makeIcon("Show this page full", FULL, () => model.send_msg({ act: "full" })),
    makeIcon("Close: the layout alone again", CLOSE, () => model.send_msg({ act: "close" })),
  );
  const place = () => el.getRootNode().host?.getRootNode().host;
  let share = USUAL, side = "beside";
  const setShare = (wanted) => {
    share = Math.min(Math.max(Math.round(wanted), MIN_SHARE), MAX_SHARE);
    place()?.style.setProperty("--dock", `${share}%`);
    bar.setAttribute("aria-valuenow", share);
    bar.setAttribute("aria-valuetext", `${share} per cent`);
  };
  const tell = () => {
    if (share !== model.split.share) model.send_msg({ act: "share", share });
  };

  const show = () => {
    const { page, side: wanted, share: size } = model.split;
    if (page === undefined) return;
    side = wanted;
    all.className = side;
    bar.setAttribute("aria-orientation", side === "beside" ? "vertical" : "horizontal");
    setShare(size);
    names.replaceChildren(
      ...model.pages.map(([slug, title]) => {
        const button = make("button", "");
        button.type = "button";
        button.textContent = title;
        button.setAttribute("aria-pressed", String(slug === page));
        button.addEventListener("click", () => model.send_msg({ act: "page", page: slug }));
        return button;
      }),
    );
  };

  const follow = (event) => {
    const { right, bottom, width, height } = place().getBoundingClientRect();
    return side === "beside"
      ? (100 * (right - event.clientX)) / width
      : (100 * (bottom - event.clientY)) / height;
  };
  const findByKey = ({ key, shiftKey }) => {
    const [larger, smaller] =
      side === "beside" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const step = shiftKey ? 10 : 2;
    return {
      [larger]: share + step, [smaller]: share - step, Home: MIN_SHARE, End: MAX_SHARE,
    }[key];
  };
  const label = "Size of the page beside the layout: drag, or use the arrow keys";
  const bar = makeSeparator(label, {
    usual: () => USUAL, follow, findByKey, show: setShare, tell,
  });
  bar.setAttribute("aria-valuemin", MIN_SHARE);
  bar.setAttribute("aria-valuemax", MAX_SHARE);
  all.append(bar, head);
  model.on("split", show);
  queueMicrotask(show);
  const root = document.createElement("div");
  root.append(style, all);
  return root;
}
