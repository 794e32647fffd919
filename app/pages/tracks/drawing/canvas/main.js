// Inserts the tracks into the page and connects them to the server.

import { Gestures, listenToOverview } from "./gestures.js";
import { Margin } from "./margin.js";
import { Overview } from "./overview.js";
import { Picture } from "./picture.js";
import { Tip } from "./tip.js";

const OVERVIEW_PIXELS = 46;
const STYLE = `
.tracks { position: absolute; inset: 0; display: flex; flex-direction: column; overflow: hidden;
  transition: color 10ms; --line: #d6dde7; --value: #8a4b00; --card: #ffffff; }
.tracks { font-size: 12px; line-height: 1.3; }
.tracks[data-theme="dark"] { --line: #263242; --value: #ffd591; --card: #101722; }
.tracks .head, .tracks .body { display: grid; grid-template-columns: 210px 1fr; }
.tracks .head { flex: none; overflow: hidden; scrollbar-gutter: stable; }
.tracks .body { flex: 1 1 0; min-height: 0; overflow: hidden auto; scrollbar-gutter: stable;
  align-content: start; scrollbar-width: thin; }
.tracks .head { scrollbar-width: thin; }
.tracks canvas { width: 100%; display: block; outline: none; touch-action: none; }
.tracks .corner { padding: 26px 6px 0 13px; opacity: 0.74; line-height: 1.3; overflow: hidden; }
.tracks .said { padding-top: 10px; white-space: nowrap; font-size: 11px; }
.tracks .lanes { position: relative; min-width: 0; }
.tracks .lanes:focus-within { box-shadow: inset 0 0 0 2px #56b4e9; }
.tracks .lanes:not(:has(canvas:focus-visible)) { box-shadow: none; }
.tracks .margin { position: relative; font-variant-numeric: tabular-nums; user-select: none;
  touch-action: pan-y; padding-bottom: 40px; }
.tracks .row { position: absolute; left: 0; right: 0; overflow: hidden; box-sizing: border-box;
  border-bottom: 1px solid var(--line); cursor: grab; }
.tracks .track { position: relative; padding: 3px 6px 3px 10px; border-left: 3px solid; }
.tracks .track:only-child { min-height: 100%; box-sizing: border-box; }
.tracks .track:not(:only-child) { display: flex; gap: 6px; padding: 1px 6px 1px 10px; }
.tracks .track:not(:only-child) b { flex: 0 1 auto; min-width: 90px; }
.tracks .track:not(:only-child) .value { flex: 1 1 0; text-align: right; }
.tracks .row > .note { display: block; padding: 0 6px 0 13px; white-space: nowrap; }
.tracks .track.chosen { background: rgba(127, 150, 180, 0.16); }
.tracks .track b, .tracks .track span { display: block; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
.tracks .track b { font-weight: 600; }
${["@media (max-width: 600px)", "@container (max-width: 600px)"].map((narrow) => `${narrow} {
  .tracks .head, .tracks .body { grid-template-columns: 144px 1fr; }
  .tracks .track:only-child b { white-space: normal; overflow-wrap: anywhere; }
  .tracks .said { overflow: hidden; text-overflow: ellipsis; }
}`).join("\n")}
.tracks .note { opacity: 0.74; }
.tracks .value { color: var(--value); min-height: 1.3em; }
.tracks .buttons { position: absolute; top: 2px; right: 4px; opacity: 0; background: var(--card);
  border-radius: 4px; }
.tracks .track:hover .buttons, .tracks .buttons:focus-within { opacity: 1; }
.tracks button { font: inherit; color: inherit; background: none; border: 1px solid var(--line);
  border-radius: 4px; padding: 0 6px; margin: 0 2px; cursor: pointer; }
.tracks button:hover { background: rgba(127, 150, 180, 0.25); }
.tracks .hidden-tracks { position: absolute; left: 10px; right: 4px; padding-top: 8px; }
.tracks .hidden-tracks button { display: block; max-width: 100%; overflow: hidden; margin-top: 3px;
  text-overflow: ellipsis; white-space: nowrap; }
.tracks .mark { position: absolute; left: 0; right: 0; background: #56b4e9; z-index: 2;
  pointer-events: none; }
.tracks .mark.onto { background: rgba(86, 180, 233, 0.3); border: 2px solid #56b4e9;
  box-sizing: border-box; text-align: right; padding: 2px 6px; font-weight: 600; }
.tracks .card { position: absolute; background: var(--card); border: 1px solid #45566e;
  border-radius: 5px; padding: 6px 9px; max-width: 320px; pointer-events: none; z-index: 3;
  overflow-wrap: anywhere; box-shadow: 0 2px 8px rgba(0, 0, 0, 0.3); }
.tracks .card.pinned { pointer-events: auto; user-select: text; }
.tracks .card button { margin: 6px 6px 0 0; padding: 1px 8px; }
.tracks [hidden] { display: none; }
`;

function make(kind, className) {
  const element = document.createElement(kind);
  element.className = className;
  return element;
}

// Makes each greeting unique when the page recreates the canvas; an equal one would not be sent.
let nSent = 0;

export function render({ model }) {
  const root = make("div", "tracks");
  const style = document.createElement("style");
  style.textContent = STYLE;
  const [top, body, corner] = [make("div", "head"), make("div", "body"), make("div", "corner")];
  const said = make("div", "said");
  corner.append("Whole contig", said);
  corner.title = "Positions count from 1. "
    + "Zoomed out, a line is the mean of each bin, and the shade behind it its range; "
    + "zoomed in, values are exact.";
  const [head, canvas] = [make("canvas", "overview"), make("canvas", "track-canvas")];
  const [margin, lanes, card] = [make("div", "margin"), make("div", "lanes"), make("div", "card")];
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  head.setAttribute("role", "img");
  head.setAttribute("aria-label", "The whole contig, with the visible part marked");
  top.append(corner, head);
  lanes.append(canvas, card);
  body.append(margin, lanes);
  root.append(style, top, body);

  const send = (message) => {
    nSent += 1;
    model.answer = { ...message, message: nSent };
  };
  const parts = { root, head, canvas, said, margin: new Margin(margin, send), tip: new Tip(card, send) };
  const picture = new Picture({ ...parts, overview: new Overview(OVERVIEW_PIXELS) }, send);
  new Gestures(canvas, picture);
  listenToOverview(head, picture);
  const showTexts = () => canvas.setAttribute("aria-label", model.summary);
  showTexts();
  model.on(["summary"], showTexts);
  model.on("msg:custom", (message) => picture.take(message));
  // A change of theme is detected by the text colour.
  root.addEventListener("transitionend", () => picture.requestDraw());
  const observer = new ResizeObserver(([entry]) => picture.resize(entry.contentRect.width));
  observer.observe(lanes);
  model.on("remove", () => observer.disconnect());
  return root;
}
