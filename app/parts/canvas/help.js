// The list of what mouse and keys do.

const STYLE = `
position: absolute; inset: 0; margin: auto; width: max-content; height: max-content;
max-width: calc(100% - 24px); max-height: calc(100% - 24px); overflow: auto; padding: 14px 20px;
background: rgba(16, 23, 34, 0.97); color: #e8eef6; border: 1px solid #45566e; border-radius: 8px;
font: 13px/1.75 system-ui, sans-serif; z-index: 2;`;

// The list of these pairs: what is done, and what it does.
export function makeHelp(rows) {
  const help = document.createElement("div");
  help.className = "picture-help";
  help.setAttribute("role", "dialog");
  help.setAttribute("aria-label", "Mouse and keys");
  help.style.cssText = STYLE;
  help.hidden = true;
  help.style.display = "none";
  const list = document.createElement("dl");
  list.style.cssText =
    "display: grid; grid-template-columns: max-content auto; gap: 0 18px; margin: 0";
  for (const [keys, meaning] of rows) {
    const term = document.createElement("dt");
    term.textContent = keys;
    term.style.cssText = "font-weight: 600; color: #f3c26b";
    const text = document.createElement("dd");
    text.textContent = meaning;
    text.style.margin = "0";
    list.append(term, text);
  }
  help.append(list);
  return help;
}
