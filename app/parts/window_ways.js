// Restore window settings. The theme follows the system until the user chooses one, which is
// stored. The drawer starts closed where it would cover the content or leave too little room for
// two pages.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view.prototype
  const {connect_signals} = component
  const CHOICE = "genoviz-theme", NARROW = "(max-width: 899px)", TIGHT = "(max-width: 1199px)", HERE = {sync: false}
  const LONGEST = 3000
  const system = matchMedia("(prefers-color-scheme: dark)")

  const chosen = () => {
    try { return localStorage.getItem(CHOICE) } catch { return null }
  }
  const remember = (choice) => {
    try { localStorage.setItem(CHOICE, choice) } catch { /* then it is for this tab alone */ }
  }
  const isDark = () => (chosen() ?? (system.matches ? "dark" : "light")) === "dark"
  let isFollowing = false

  // Show the picture before until all parts have the new theme. Each of them changes on its own, in
  // two steps, so cards would have the colours of one theme and the text of the other meanwhile.
  const hold = () => {
    if (!document.startViewTransition || !window.scheduler?.postTask) return
    // Runs when nothing else is to be done.
    const settled = () => scheduler.postTask(() => {}, {priority: "background"})
    const late = new Promise((end) => setTimeout(end, LONGEST))
    const {ready} = document.startViewTransition(() => Promise.race([settled().then(settled), late]))
    ready.catch(() => {})  // of a hidden window
  }

  component.connect_signals = function () {
    const {data, class_name} = this.model
    // Before the first drawing, and without a message to the server for each component.
    if ("dark_theme" in (data?.attributes ?? {}) && data.dark_theme !== isDark()) {
      data.setv({dark_theme: isDark()}, HERE)
    }
    if (class_name === "Page") {
      const narrow = matchMedia(NARROW)
      if (narrow.matches) data.setv({sidebar_open: false}, HERE)
      narrow.addEventListener("change", () => {
        if (narrow.matches) data.setv({sidebar_open: false})
      })
      document.addEventListener("page-beside", () => {
        if (matchMedia(TIGHT).matches) data.setv({sidebar_open: false})
      })
      this.connect(data.properties.dark_theme.change, () => {
        hold()
        if (!isFollowing) remember(data.dark_theme ? "dark" : "light")
      })
      system.addEventListener("change", () => {
        isFollowing = true
        if (chosen() === null) data.dark_theme = system.matches
        isFollowing = false
      })
    }
    connect_signals.call(this)
  }
})
