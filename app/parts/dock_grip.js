// The draggable upper edge of the dock. Keys resize it, and a double click restores the default
// height. The browser stores the height for tabs whose link has none.

import { SEPARATOR_STYLE, makeSeparator } from "./separator.js";

const STYLE = `
:host { pointer-events: none; }
.separator { height: 8px; cursor: row-resize; }
.separator::after { width: 56px; height: 3px; }
`;
const MIN_HEIGHT = 150, STEP = 20, ABOVE = 360, REMEMBERED = "genoviz-lower";

export function render({ model, el }) {
  const style = document.createElement("style");
  style.textContent = SEPARATOR_STYLE + STYLE;
  const place = () => el.getRootNode().host?.getRootNode().host;
  let height = model.height_of_panels;

  const show = (wanted) => {
    const maxHeight = Math.max(window.innerHeight - ABOVE, MIN_HEIGHT);
    height = Math.round(Math.min(Math.max(wanted, MIN_HEIGHT), maxHeight));
    place()?.style.setProperty("--lower", `${height}px`);
    bar.setAttribute("aria-valuenow", height);
    bar.setAttribute("aria-valuemax", maxHeight);
    bar.setAttribute("aria-valuetext", `${height} pixels`);
  };
  const tell = () => {
    if (height === model.usual) window.localStorage.removeItem(REMEMBERED);
    else window.localStorage.setItem(REMEMBERED, height);
    model.send_msg({ height });
  };
  const findByKey = ({ key, shiftKey }) => {
    const step = shiftKey ? 5 * STEP : STEP;
    return {
      ArrowUp: height + step, ArrowDown: height - step, Home: MIN_HEIGHT, End: window.innerHeight,
    }[key];
  };
  const bar = makeSeparator("Height of these panels: drag, or use the arrow keys", {
    usual: () => model.usual,
    follow: (event) => place().getBoundingClientRect().bottom - event.clientY,
    findByKey, show, tell,
  });
  bar.setAttribute("aria-orientation", "horizontal");
  bar.setAttribute("aria-valuemin", MIN_HEIGHT);
  model.on("height_of_panels", () => show(model.height_of_panels));
  queueMicrotask(() => {
    const remembered = Number(window.localStorage.getItem(REMEMBERED));
    const isWished = model.height_of_panels === model.usual && remembered > 0;
    show(isWished ? remembered : model.height_of_panels);
    if (isWished) tell();
  });
  const root = document.createElement("div");
  root.append(style, bar);
  return root;
}
