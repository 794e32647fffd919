// Saves the files that come, as a press on a link does.

export function render({ model }) {
  model.on("msg:custom", ({ name, content }) => {
    const link = document.createElement("a")
    link.download = name
    link.href = URL.createObjectURL(new Blob([content]))
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  })
}
