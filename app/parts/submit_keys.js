// Make Ctrl+Enter and Cmd+Enter in a multi-line field submit it, like Shift+Enter.
document.addEventListener("keydown", (event) => {
  const field = event.composedPath()[0]
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || field.tagName !== "TEXTAREA") return
  const options = {key: "Enter", shiftKey: true, bubbles: true, composed: true, cancelable: true}
  field.dispatchEvent(new KeyboardEvent("keydown", options))
  event.preventDefault()
})
