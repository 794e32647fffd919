// The browser's address: changed without loading the page anew, and told when a person walks
// back or forward through what it was.
export function render({model}) {
  const show = () => {
    const {query, replaces} = model.shown
    const {pathname, search, hash} = window.location
    if (query === undefined || query === search) return
    const url = `${pathname}${query}${hash}`
    if (replaces) window.history.replaceState({}, "", url)
    else window.history.pushState({}, "", url)
  }
  const tell = () => model.send_msg({query: window.location.search})
  model.on("shown", show)
  window.addEventListener("popstate", tell)
  model.on("remove", () => window.removeEventListener("popstate", tell))
  show()
}
