const STYLE = `
button { font-family: inherit; font-size: 13px; font-weight: 600; line-height: 1.75;
  color: inherit; cursor: pointer; background: none; border: 1px solid currentColor;
  border-radius: 8px; padding: 6px 9px; opacity: 0.75; }
button:hover, button:focus-visible { opacity: 1; }
button[aria-disabled="true"] { opacity: 0.3; cursor: default; }
`

async function copy(text) {
  // Insecure contexts have no clipboard; copy from a hidden field instead.
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text)
  const field = document.createElement("textarea")
  field.value = text
  field.style.position = "fixed"
  field.style.opacity = "0"
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand("copy")
  field.remove()
  if (!isCopied) throw new Error("the browser does not let the page copy")
}

export function render({ model, el }) {
  const style = document.createElement("style")
  style.textContent = STYLE
  const button = document.createElement("button")
  button.type = "button"
  const show = () => {
    button.textContent = model.label
    const isEmpty = model.text === ""
    button.setAttribute("aria-disabled", String(isEmpty))
    button.title = isEmpty ? `${model.label}: ${model.why_not}` : ""
  }
  button.addEventListener("click", () => {
    if (model.text === "") return
    copy(model.text).then(
      () => { button.textContent = "Copied" },
      () => { button.textContent = "Not copied" },
    )
    setTimeout(show, 1500)
  })
  model.on("text", show)
  model.on("label", show)
  model.on("why_not", show)
  show()
  el.append(style, button)
}
