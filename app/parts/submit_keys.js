// Let Ctrl+Enter, or Cmd+Enter, in a field of several lines do what Shift+Enter does in it: hand over
// what is written.
document.addEventListener("keydown", (event) => {
  const field = event.composedPath()[0]
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || field.tagName !== "TEXTAREA") return
  const options = {key: "Enter", shiftKey: true, bubbles: true, composed: true, cancelable: true}
  field.dispatchEvent(new KeyboardEvent("keydown", options))
  event.preventDefault()
})
