// The browser's address: changed without loading the page anew, and told when a person walks
// back or forward through what it was. Each entry has its number, so that one knows the ends.
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
  model.on("shown", show)
  window.addEventListener("popstate", tell)
  model.on("remove", () => window.removeEventListener("popstate", tell))
  show()
}
