// The upper edge of the panels under a picture: dragged, or moved by keys; a double click brings
// the usual height back. The browser remembers the height for tabs whose link says none.

const STYLE = `
:host { pointer-events: none; }
.grip { pointer-events: auto; height: 8px; display: grid; place-content: center;
  cursor: row-resize; touch-action: none; }
.grip::after { content: ""; width: 56px; height: 3px; border-radius: 3px;
  background: rgba(128, 145, 170, 0.55); }
.grip:hover::after, .grip:focus-visible::after, .grip.moves::after { background: #3f9fd6; }
.grip:focus-visible { outline: 2px solid #3f9fd6; outline-offset: -2px; }
`;
const LEAST = 150, STEP = 20, ABOVE = 360, REMEMBERED = "genoviz-lower";

export function render({ model, el }) {
  const style = document.createElement("style");
  style.textContent = STYLE;
  const bar = document.createElement("div");
  bar.className = "grip";
  bar.tabIndex = 0;
  bar.title = "Height of these panels: drag, or use the arrow keys";
  for (const [name, value] of Object.entries({
    role: "separator", "aria-orientation": "horizontal", "aria-label": bar.title,
    "aria-valuemin": LEAST,
  })) {
    bar.setAttribute(name, value);
  }
  const place = () => el.getRootNode().host?.getRootNode().host;
  let height = model.height_of_panels;

  const show = (wanted) => {
    const most = Math.max(window.innerHeight - ABOVE, LEAST);
    height = Math.round(Math.min(Math.max(wanted, LEAST), most));
    place()?.style.setProperty("--lower", `${height}px`);
    bar.setAttribute("aria-valuenow", height);
    bar.setAttribute("aria-valuemax", most);
    bar.setAttribute("aria-valuetext", `${height} pixels`);
  };
  const tell = () => {
    if (height === model.usual) window.localStorage.removeItem(REMEMBERED);
    else window.localStorage.setItem(REMEMBERED, height);
    model.send_msg({ height });
  };

  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    bar.classList.add("moves");
    event.preventDefault();
    bar.focus();
  });
  bar.addEventListener("pointermove", (event) => {
    if (bar.classList.contains("moves")) {
      show(place().getBoundingClientRect().bottom - event.clientY);
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    bar.addEventListener(end, () => {
      if (bar.classList.contains("moves")) {
        bar.classList.remove("moves");
        tell();
      }
    });
  }
  bar.addEventListener("dblclick", () => {
    show(model.usual);
    tell();
  });
  bar.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 5 * STEP : STEP;
    const wanted = {
      ArrowUp: height + step, ArrowDown: height - step, Home: LEAST, End: window.innerHeight,
    }[event.key];
    if (wanted === undefined || event.altKey) return;
    event.preventDefault();
    show(wanted);
    tell();
  });
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
