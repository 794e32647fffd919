// The address bar: changes the address without a reload, and reports steps through the history.
// History entries are numbered, so that both ends are known. Also saves files that the server
// sends, like a click on a link.
const ACTS = ["pointerdown", "click", "keydown", "wheel"]
const ACT_MILLISECONDS = 250

export function render({model}) {
  const show = () => {
    const {query, replaces} = model.shown
    const {pathname, search, hash} = window.location
    if (query === undefined || query === search) return
    const url = `${pathname}${query}${hash}`
    const at = window.history.state?.genoviz ?? 0
    if (replaces) {
      window.history.replaceState({genoviz: at}, "", url)
    } else {
      window.history.pushState({genoviz: at + 1}, "", url)
      window.sessionStorage.setItem("genoviz-top", String(at + 1))
    }
    window.dispatchEvent(new Event("genoviz-moved"))
  }
  const tell = () => model.send_msg({query: window.location.search})
  let told = -Infinity
  const tellAct = (event) => {
    if (event.timeStamp - told < ACT_MILLISECONDS) return
    told = event.timeStamp
    model.send_msg({})
  }
  const save = ({name, content}) => {
    const link = document.createElement("a")
    link.download = name
    link.href = URL.createObjectURL(new Blob([content]))
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  }
  model.on("shown", show)
  model.on("msg:custom", save)
  window.addEventListener("popstate", tell)
  for (const act of ACTS) window.addEventListener(act, tellAct, {capture: true, passive: true})
  model.on("remove", () => {
    window.removeEventListener("popstate", tell)
    for (const act of ACTS) window.removeEventListener(act, tellAct, {capture: true})
  })
  show()
}
