// A story: views with captions, each with its link and a picture. The story is in the URL fragment,
// which is not sent to servers; pictures stay in the browser.

const KEY = "#story=";
const MAX_VIEWS = 100;
const MAX_LETTERS = 5000;
const STYLE = `
:host { width: 100%; }
section { box-sizing: border-box; width: calc(100% - 8px); display: grid; grid-template-columns: auto 1fr auto; gap: 6px 10px; align-items: center;
  margin: 4px 4px 0; padding: 6px 10px; border: 1px solid rgba(128, 145, 170, 0.5);
  border-radius: 8px; font: 13px/1.4 system-ui, sans-serif; }
div { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; }
button { font: inherit; color: inherit; background: none; cursor: pointer; padding: 3px 8px;
  border: 1px solid rgba(128, 145, 170, 0.7); border-radius: 6px; min-height: 26px; }
button:hover:not([aria-disabled="true"]) { background: rgba(128, 145, 170, 0.22); }
button[aria-disabled="true"] { opacity: 0.4; cursor: default; }
button:focus-visible, textarea:focus-visible { outline: 2px solid #3f9fd6; outline-offset: 1px; }
textarea { font: inherit; color: inherit; background: none; resize: vertical; min-width: 0;
  width: 100%; box-sizing: border-box; padding: 4px 8px; min-height: 44px;
  border: 1px solid rgba(128, 145, 170, 0.5); border-radius: 6px; }
@media (max-width: 1100px) { section { grid-template-columns: 1fr; } }
`;

async function through(stream, bytes) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

// Encode the views for a URL, after the index of the current one.
export async function encodeStory(views, at) {
  const text = JSON.stringify(views.map(({ query, caption }) => [query, caption]));
  const bytes = await through(
    new CompressionStream("deflate-raw"), new TextEncoder().encode(text),
  );
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const plain = btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${KEY}${at + 1}.${plain}`;
}

// Decode views and current index from a URL; empty if it has no story.
export async function decodeStory(hash) {
  const none = { views: [], at: 0 };
  if (!hash.startsWith(KEY)) return none;
  try {
    const [number, plain] = hash.slice(KEY.length).split(".");
    const letters = atob(plain.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const text = await through(new DecompressionStream("deflate-raw"), bytes);
    const views = JSON.parse(new TextDecoder().decode(text))
      .filter(([query]) => typeof query === "string" && /^(\?|$)/.test(query))
      .slice(0, MAX_VIEWS)
      .map(([query, caption]) => ({
        query, caption: String(caption).slice(0, MAX_LETTERS), picture: "",
      }));
    const at = Math.min(Math.max((parseInt(number, 10) || 1) - 1, 0), Math.max(views.length - 1, 0));
    return { views, at };
  } catch {
    return none;
  }
}

// The query of a view without the story parameter.
export function ownQuery(search) {
  const parts = search.replace(/^\?/, "").split("&").filter((part) => !/^story(=|$)/.test(part));
  return parts.join("&") ? `?${parts.join("&")}` : "";
}

// The query of a view with the story parameter.
export function queryInStory(query) {
  return query ? `${query}&story=1` : "?story=1";
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text) => text.replace(/[&<>"']/g, (letter) => ESCAPES[letter]);

// A self-contained page without scripts: picture, caption and link of each view.
export function storyPage(title, views, address) {
  const figures = views.map(({ query, caption, picture }, n) => {
    const link = escaped(`${address}${query}`);
    const image = /^data:image\/png;base64,[A-Za-z0-9+/=]*$/.test(picture)
      ? `<img src="${picture}" alt="View ${n + 1}">`
      : "<p>This view has no picture.</p>";
    const words = escaped(caption).replaceAll("\n", "<br>");
    return `<figure>${image}<figcaption><b>${n + 1}.</b> ${words}<br>` +
      `<a href="${link}">${link}</a></figcaption></figure>`;
  });
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { margin: 24px auto; max-width: 1200px; padding: 0 16px; color: #17202c; background: #fff;
  font: 15px/1.5 system-ui, sans-serif; }
figure { margin: 0 0 36px; break-inside: avoid; }
img { max-width: 100%; border: 1px solid #b3bdca; }
a { font-size: 12px; overflow-wrap: anywhere; }
</style></head><body><h1>${escaped(title)}</h1>
${figures.join("\n")}
</body></html>
`;
}

// Render the part of the window below an element as PNG: canvases, images, backgrounds, lines and
// text.
async function takePicture(host) {
  const { left, right, bottom } = host.getBoundingClientRect();
  const size = [right - left, window.innerHeight - bottom];
  const scale = Math.min(window.devicePixelRatio || 1, 2);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = size.map((length) => Math.max(Math.round(length * scale), 1));
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.translate(-left, -bottom);
  pen.fillStyle = getComputedStyle(document.body).backgroundColor;
  pen.fillRect(left, bottom, ...size);
  const seen = { left, top: bottom, right, bottom: window.innerHeight };
  const drawings = [];
  draw(pen, document.body, seen, drawings);
  for (const drawing of drawings) await drawSvg(pen, drawing);
  return canvas.toDataURL("image/png");
}

const isOff = (box, seen) =>
  box.right <= seen.left || box.left >= seen.right || box.bottom <= seen.top ||
  box.top >= seen.bottom;

function draw(pen, element, seen, drawings) {
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return;
  const box = element.getBoundingClientRect();
  const isBox = box.width > 0 && box.height > 0;
  if (isBox && isOff(box, seen) && style.overflow !== "visible") return;
  if (element.localName === "svg") {
    if (isBox && !isOff(box, seen)) drawings.push({ element, style, box });
    return;
  }
  pen.save();
  if (isBox && !isOff(box, seen)) drawBox(pen, element, style, box);
  if (isBox && style.overflow !== "visible") {
    pen.beginPath();
    pen.rect(box.left, box.top, box.width, box.height);
    pen.clip();
  }
  const children = element.shadowRoot?.childNodes ??
    (element.localName === "slot" && element.assignedNodes().length
      ? element.assignedNodes() : element.childNodes);
  for (const child of children) {
    if (child.nodeType === Node.TEXT_NODE) drawWords(pen, child, style, seen, endOf(style, box));
    else if (child.nodeType === Node.ELEMENT_NODE) draw(pen, child, seen, drawings);
  }
  pen.restore();
}

function drawBox(pen, element, style, box) {
  pen.fillStyle = style.backgroundColor;
  pen.fillRect(box.left, box.top, box.width, box.height);
  const width = parseFloat(style.borderBottomWidth);
  if (width > 0 && width < box.height && style.borderBottomStyle !== "none") {
    pen.fillStyle = style.borderBottomColor;
    pen.fillRect(box.left, box.bottom - width, box.width, width);
  }
  if (element instanceof HTMLCanvasElement ? element.width * element.height > 0
      : element instanceof HTMLImageElement && element.complete && element.naturalWidth > 0) {
    pen.drawImage(element, box.left, box.top, box.width, box.height);
  } else if (element instanceof HTMLInputElement && element.type !== "checkbox") {
    setFont(pen, style);
    pen.fillText(element.value, box.left + parseFloat(style.paddingLeft), box.top + box.height / 2);
  }
}

async function drawSvg(pen, { element, style, box }) {
  const copy = element.cloneNode(true);
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  copy.style.color = style.color;
  copy.style.fill = style.fill;
  const texts = copy.querySelectorAll("text");
  element.querySelectorAll("text").forEach((text, n) => {
    const { fill, font } = getComputedStyle(text);
    Object.assign(texts[n].style, { fill, font });
  });
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  const isThere = await image.decode().then(() => true, () => false);
  if (isThere) pen.drawImage(image, box.left, box.top, box.width, box.height);
}

function setFont(pen, style, scale = 1) {
  const size = scale * parseFloat(style.fontSize);
  pen.font = `${style.fontStyle} ${style.fontWeight} ${size}px ${style.fontFamily}`;
  pen.fillStyle = style.color;
  pen.textBaseline = "middle";
}

// The right end of the text of an element that cuts its text, as before the arrow of a menu.
const endOf = (style, box) =>
  style.textOverflow === "ellipsis" && style.overflowX !== "visible"
    ? box.right - parseFloat(style.borderRightWidth) - parseFloat(style.paddingRight) : Infinity;

// A word, or its beginning with an ellipsis where it is wider than the room for it.
export function fitWord(word, room, measure) {
  if (measure(word) <= room) return word;
  let n = word.length;
  while (n > 0 && measure(`${word.slice(0, n)}…`) > room) n -= 1;
  return `${word.slice(0, n)}…`;
}

function drawWords(pen, node, style, seen, end) {
  const range = document.createRange();
  setFont(pen, style);
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    if (box.width > 0 && !isOff(box, seen) && box.left < end) {
      const scale = box.width / pen.measureText(word).width;  // the label of a field is reduced
      if (scale < 0.95) setFont(pen, style, scale);
      const whole = box.right <= end + 1 ? word
        : fitWord(word, end - box.left, (text) => pen.measureText(text).width);
      pen.fillText(whole, box.left, box.top + box.height / 2, box.width);
      if (scale < 0.95) setFont(pen, style);
    }
  }
}

function save(name, text) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function render({ model, el }) {
  let views = [];
  let at = 0;
  const style = document.createElement("style");
  style.textContent = STYLE;
  const bar = document.createElement("section");
  bar.setAttribute("aria-label", "Story");
  const place = document.createElement("span");
  const caption = document.createElement("textarea");
  caption.rows = 2;
  caption.maxLength = MAX_LETTERS;
  caption.setAttribute("aria-label", "Caption");
  const make = (label, title, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.title = title;
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") !== "true") act();
    });
    return button;
  };
  // Enable a button, or disable it with a reason.
  const allow = (button, whyNot) => {
    button.dataset.does ??= button.title;
    button.title = whyNot ? `${button.dataset.does}: ${whyNot}` : button.dataset.does;
    button.setAttribute("aria-disabled", String(whyNot !== ""));
  };
  const show = () => {
    place.textContent = views.length ? `View ${at + 1} of ${views.length}` : "No view yet";
    caption.value = views[at]?.caption ?? "";
    caption.placeholder = views.length ? "Caption" : "Add this view, then enter a caption";
    caption.disabled = !views.length;
    const none = views.length ? "" : "add a view first";
    for (const button of [again, remove, link, page]) allow(button, none);
    allow(back, none || (at <= 0 ? "this is the first" : ""));
    allow(next, none || (at + 1 >= views.length ? "this is the last" : ""));
  };
  // Compression is asynchronous and may finish out of order; keep only the last result.
  let turn = 0;
  const note = async () => {
    turn += 1;
    const own = turn;
    const hash = views.length ? await encodeStory(views, at) : "";
    if (own !== turn) return;
    const { pathname, search } = window.location;
    window.history.replaceState(window.history.state, "", `${pathname}${search}${hash}`);
  };
  // The address bar is updated with a delay, so ask the server.
  const asked = [];
  model.on("msg:custom", ({ query }) => asked.shift()?.(query));
  const here = async () => {
    const picture = await takePicture(el.getRootNode().host ?? el);
    const query = await new Promise((resolve) => {
      asked.push(resolve);
      model.send_msg({ act: "link" });
    });
    return { query: query || ownQuery(window.location.search), caption: "", picture };
  };
  const change = () => { show(); note(); };
  const go = (to) => {
    at = to;
    change();
    model.send_msg({ act: "show", query: views[at].query });
  };
  const add = make("Add this view", "Save the link and a picture of the current view", async () => {
    views.splice(at + (views.length ? 1 : 0), 0, await here());
    at = Math.min(at + 1, views.length - 1);
    change();
    caption.focus();
  });
  const again = make("Take again", "Replace this view by the current one", async () => {
    views[at] = { ...(await here()), caption: views[at].caption };
    change();
  });
  const remove = make("Remove", "Remove this view from the story", () => {
    views.splice(at, 1);
    at = Math.max(Math.min(at, views.length - 1), 0);
    change();
  });
  const back = make("◀", "View before", () => go(at - 1));
  const next = make("▶", "Next view", () => go(at + 1));
  back.setAttribute("aria-label", "View before");
  next.setAttribute("aria-label", "Next view");
  const address = () => `${window.location.origin}${window.location.pathname}`;
  const link = make("Copy link", "Copy one link to the whole story", async () => {
    const whole = `${address()}${queryInStory(views[0].query)}${await encodeStory(views, 0)}`;
    const isDone = navigator.clipboard && window.isSecureContext
      ? await navigator.clipboard.writeText(whole).then(() => true, () => false) : false;
    link.textContent = isDone ? "Copied" : "Not copied";
    if (!isDone) window.prompt("The link of the story", whole);
    setTimeout(() => { link.textContent = "Copy link"; }, 1500);
  });
  const page = make("Save as HTML", "One file with all pictures, captions and links", () =>
    save("story.html", storyPage("Story", views, address())));
  const close = make("Close", "Close the story; its link keeps it", () =>
    model.send_msg({ act: "close" }));
  caption.addEventListener("input", () => {
    views[at].caption = caption.value;
    note();
  });
  const group = (...parts) => {
    const row = document.createElement("div");
    row.append(...parts);
    return row;
  };
  bar.append(group(back, place, next), caption, group(add, again, remove, link, page, close));
  el.append(style, bar);
  show();
  decodeStory(window.location.hash).then((found) => {
    if (found.views.length) {
      ({ views, at } = found);
      show();
    }
  });
}
