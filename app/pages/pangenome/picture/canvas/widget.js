// The picture as a notebook widget with Run button, colours and legend, in the notebook's theme.

import { placePicture } from "./main.js";

const STYLE = `
.widget { font: 13px/1.4 var(--jp-ui-font-family, system-ui, sans-serif); box-sizing: border-box;
  color: var(--jp-ui-font-color1, #212121); background: var(--jp-layout-color1, #ffffff);
  border: 1px solid var(--jp-border-color2, #c4c4c4); border-radius: 4px; overflow: hidden; }
.widget .bar { display: flex; flex-wrap: wrap; align-items: center; gap: 6px; padding: 6px 8px; }
.widget button, .widget select { font: inherit; color: inherit; padding: 3px 9px; height: 28px;
  border: 1px solid var(--jp-border-color1, #9e9e9e); border-radius: 3px; cursor: pointer;
  background: var(--jp-layout-color2, #f0f0f0); }
.widget button:hover:enabled { background: var(--jp-layout-color3, #e0e0e0); }
.widget button:disabled { opacity: 0.45; cursor: default; }
.widget button.run { min-width: 84px; color: #ffffff; background: #0b6bb0; border-color: #0b6bb0; }
.widget button.run:hover:enabled { background: #095a94; }
.widget :is(button, select):focus-visible { outline: 2px solid #56b4e9; outline-offset: 1px; }
.widget label { display: inline-flex; align-items: center; gap: 6px; }
.widget .numbers { margin-left: auto; font-variant-numeric: tabular-nums; }
.widget .progress { height: 3px; background: var(--jp-layout-color2, #f0f0f0); }
.widget .progress i { display: block; height: 100%; width: 0; background: #0b6bb0; }
.widget .stage { position: relative; min-height: 160px; overflow: hidden; resize: vertical; }
.widget .below { background: #0b1018; }
`;
const SAVE_MILLISECONDS = 400;
const PATIENCE_MILLISECONDS = 6000;
const ASLEEP = "Python draws this picture: run the cell to see it";
const ZOOM_STEP = 1.6;
const LEGEND_TAGS = /^(div|span|i|svg|defs|linearGradient|stop|rect|line|text)$/;

function make(tag, className, more = {}) {
  return Object.assign(document.createElement(tag), { className, ...more });
}

// The legend's HTML is stored in notebooks, which may come from untrusted sources. Allow only the
// elements of a legend, and no scripts.
function legendNodes(markup) {
  const { body } = new DOMParser().parseFromString(markup, "text/html");
  for (const node of body.querySelectorAll("*")) {
    if (!LEGEND_TAGS.test(node.localName)) {
      node.remove();
    }
    for (const { name } of [...node.attributes]) {
      if (name.startsWith("on") || /^(xlink:)?href$/.test(name)) {
        node.removeAttribute(name);
      }
    }
  }
  return body.childNodes;
}

// The binary data of a frame are sent separately from its message.
function joined(message, buffers) {
  if (!buffers?.length) {
    return message;
  }
  const { buffer, byteOffset, byteLength } = buffers[0];
  return { ...message, data: buffer.slice(byteOffset, byteOffset + byteLength) };
}

export function render({ model, el }) {
  const host = make("div", "genoviz-layout");
  // Keeps JupyterLab from handling keys pressed here.
  host.dataset.lmSuppressShortcuts = "true";
  const root = host.attachShadow({ mode: "open" });
  const legendStyle = make("style", "");
  const send = (message) => model.send(message);
  const { frame, picture, showTexts, remove } = placePicture(send);
  picture.waiting = "Waiting for Python; what is shown can still be moved";

  const button = (text, title, act, className = "") => {
    const made = make("button", className, { type: "button", textContent: text, title });
    made.addEventListener("click", act);
    return made;
  };
  const run = button("Run", "", () => send({ kind: "run" }), "run");
  const stop = button("Stop", "End the layout", () => send({ kind: "stop" }));
  const zoom = (factor) => picture.view && picture.move(picture.view.zoomed(factor));
  const choice = (name, words) => {
    const label = make("label", "", { textContent: words });
    const select = make("select", name);
    select.addEventListener("change", () => {
      model.set(name, select.value);
      model.save_changes();
    });
    label.append(select);
    return [label, select];
  };
  const [colourLabel, colours] = choice("colour_by", "Colour by");
  const [shapeLabel, shapes] = choice("shape", "View");
  const numbers = make("span", "numbers", { role: "status" });
  const bar = make("div", "bar");
  bar.append(
    run,
    stop,
    colourLabel,
    shapeLabel,
    button("+", "Zoom in", () => zoom(ZOOM_STEP)),
    button("−", "Zoom out", () => zoom(1 / ZOOM_STEP)),
    button("Fit", "Show everything", () => picture.fit()),
    numbers,
  );
  const progress = make("div", "progress");
  const done = make("i", "");
  progress.append(done);
  const stage = make("div", "stage");
  stage.append(frame);
  const below = make("div", "below legend-host");
  const widget = make("div", "widget");
  const style = make("style", "", { textContent: STYLE });
  widget.append(style, legendStyle, bar, progress, stage, below);
  root.append(widget);
  el.append(host);

  const shows = {
    state: () => {
      const state = model.get("state");
      const isRunning = state === "running";
      run.textContent = isRunning ? "Pause" : state.startsWith("paus") ? "Resume" : "Run";
      run.disabled = state === "empty" || state === "pausing";
      stop.disabled = !isRunning && !state.startsWith("paus");
    },
    _numbers: () => {
      numbers.textContent = model.get("_numbers");
    },
    _fraction: () => {
      done.style.width = `${100 * model.get("_fraction")}%`;
    },
    _legend: () => {
      below.replaceChildren(...legendNodes(model.get("_legend")));
    },
    _legend_style: () => {
      legendStyle.textContent = model.get("_legend_style");
    },
    _modes: () => {
      colours.replaceChildren(
        ...model.get("_modes").map(([kind, modes]) => {
          const group = make("optgroup", "", { label: kind });
          group.append(...modes.map(([value, text]) => make("option", "", { value, text })));
          return group;
        }),
      );
      colours.value = model.get("colour_by");
    },
    colour_by: () => {
      colours.value = model.get("colour_by");
    },
    _shapes: () => {
      shapes.replaceChildren(
        ...model.get("_shapes").map(([value, text]) => make("option", "", { value, text })),
      );
      shapes.value = model.get("shape");
    },
    shape: () => {
      shapes.value = model.get("shape");
    },
    height: () => {
      stage.style.height = `${model.get("height")}px`;
    },
    _summary: () => showTexts(model.get("_summary"), model.get("_hint")),
    _hint: () => showTexts(model.get("_summary"), model.get("_hint")),
  };
  for (const [name, show] of Object.entries(shows)) {
    show();
    model.on(`change:${name}`, show);
  }
  const take = (message, buffers) => picture.take(joined(message, buffers));
  model.on("msg:custom", take);

  // The lower edge can be dragged to set the widget's height.
  let saveTimer = null;
  const observer = new ResizeObserver(() => {
    clearTimeout(saveTimer);
    saveTimer = setTimeout(() => {
      const height = Math.round(stage.offsetHeight);
      if (height > 0 && height !== model.get("height")) {
        model.set("height", height);
        model.save_changes();
      }
    }, SAVE_MILLISECONDS);
  });
  observer.observe(stage);
  const asleepTimer = setTimeout(() => {
    if (picture.isBare) {
      showTexts(model.get("_summary"), ASLEEP);
    }
  }, PATIENCE_MILLISECONDS);
  return () => {
    for (const [name, show] of Object.entries(shows)) {
      model.off(`change:${name}`, show);
    }
    model.off("msg:custom", take);
    clearTimeout(saveTimer);
    clearTimeout(asleepTimer);
    observer.disconnect();
    remove();
  };
}
