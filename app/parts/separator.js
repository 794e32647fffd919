// A separator between two parts of a page. It can be dragged or moved by keys, and a double click
// restores the default size.

export const SEPARATOR_STYLE = `
.separator { pointer-events: auto; display: grid; place-content: center; touch-action: none; }
.separator::after { content: ""; border-radius: 3px; background: rgba(128, 145, 170, 0.55); }
.separator:hover::after, .separator:focus-visible::after, .separator.moves::after {
  background: #3f9fd6; }
.separator:focus-visible { outline: 2px solid #3f9fd6; outline-offset: -2px; }
`;

// `follow(event)` returns the size at the pointer, `findByKey(event)` the size for a key, if any.
// `show(size)` applies a size, and `tell()` reports the final one.
export function makeSeparator(label, { usual, follow, findByKey, show, tell }) {
  const bar = document.createElement("div");
  bar.className = "separator";
  bar.tabIndex = 0;
  bar.title = label;
  bar.setAttribute("role", "separator");
  bar.setAttribute("aria-label", label);
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    bar.classList.add("moves");
    event.preventDefault();
    bar.focus();
  });
  bar.addEventListener("pointermove", (event) => {
    if (bar.classList.contains("moves")) show(follow(event));
  });
  for (const end of ["pointerup", "pointercancel"]) {
    bar.addEventListener(end, () => {
      if (!bar.classList.contains("moves")) return;
      bar.classList.remove("moves");
      tell();
    });
  }
  bar.addEventListener("dblclick", () => {
    show(usual());
    tell();
  });
  bar.addEventListener("keydown", (event) => {
    const wanted = findByKey(event);
    if (wanted === undefined || event.altKey) return;
    event.preventDefault();
    show(wanted);
    tell();
  });
  return bar;
}
