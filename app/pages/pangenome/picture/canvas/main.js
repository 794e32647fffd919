// Inserts the picture into the page and connects it to the server.

import { Gestures } from "./gestures.js";
import { Picture } from "./picture.js";

const STYLE = `
.picture { position: absolute; inset: 0; overflow: hidden; background: #0b1018; }
.picture canvas { width: 100%; height: 100%; display: block; touch-action: none; outline: none; }
.picture canvas:focus-visible { box-shadow: inset 0 0 0 2px #56b4e9; }
.picture canvas:focus-visible + .ring { position: absolute; inset: 0; pointer-events: none;
  box-shadow: inset 0 0 0 2px #56b4e9; }
.picture .way-back { position: absolute; left: 50%; top: 50%; transform: translate(-50%, -50%);
  font: 14px/1.4 system-ui, sans-serif; color: #f2f6fb; background: #1d2937; cursor: pointer;
  border: 1px solid #4fb3e8; border-radius: 8px; padding: 8px 14px; }
.picture .way-back:hover { background: #2b3d56; }
.picture .way-back:focus-visible { outline: 2px solid #56b4e9; outline-offset: 2px; }
.picture .way-back[hidden] { display: none; }
`;
const LOST = "No node is in sight here. Show everything";

// Create the elements of a picture; user actions are reported to a function.
export function placePicture(send) {
  const frame = document.createElement("div");
  frame.className = "picture";
  const style = document.createElement("style");
  style.textContent = STYLE;
  const canvas = document.createElement("canvas");
  canvas.className = "graph-canvas";
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  const ring = document.createElement("div");
  ring.className = "ring";
  const wayBack = document.createElement("button");
  wayBack.type = "button";
  wayBack.className = "way-back";
  wayBack.textContent = LOST;
  wayBack.hidden = true;
  frame.append(style, canvas, ring, wayBack);

  const picture = new Picture(canvas, wayBack, send);
  new Gestures(canvas, picture);
  wayBack.addEventListener("click", () => {
    picture.fit();
    canvas.focus();
  });
  wayBack.addEventListener("wheel", (event) => {
    event.preventDefault();
    canvas.dispatchEvent(new WheelEvent("wheel", event));
  });
  const observer = new ResizeObserver(([entry]) => {
    picture.resize(entry.contentRect.width, entry.contentRect.height);
  });
  observer.observe(frame);
  const showTexts = (summary, hint) => {
    canvas.setAttribute("aria-label", summary);
    picture.hint = hint;
    picture.requestDraw();
  };
  return { frame, picture, showTexts, remove: () => observer.disconnect() };
}

// Makes each greeting unique when the page recreates the canvas; an equal one would not be sent.
let nSent = 0;

export function render({ model }) {
  const { frame, picture, showTexts, remove } = placePicture((message) => {
    nSent += 1;
    model.answer = { ...message, message: nSent };
  });
  const showWords = () => showTexts(model.summary, model.hint);
  showWords();
  model.on(["summary", "hint"], showWords);
  model.on("msg:custom", (message) => picture.take(message));
  model.on("remove", remove);
  return frame;
}
