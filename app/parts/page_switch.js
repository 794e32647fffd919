// Let a click on the name of another page be answered before the server hears of it: a page that is
// there is shown at once, and for one that has to be made first there is a word in its place.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view.prototype
  const {_on_mounted, connect_signals, remove} = component
  const parts = new Set()
  let names, place

  const numberOf = (part) => part.model.css_classes.find((each) => each.startsWith("of-page-"))
  const coming = document.createElement("div")
  coming.className = "page-is-coming"
  coming.setAttribute("role", "status")

  const turn = () => {
    const {options, value} = names.model.data
    const wanted = `of-page-${options.indexOf(value)}`
    let isThere = false
    for (const part of parts) {
      const isWanted = numberOf(part) === wanted
      part.model.setv({visible: isWanted}, {sync: false})
      isThere ||= isWanted && part.parent === place && part.mounted
    }
    if (isThere || place === undefined) return coming.remove()
    const {left, top, width, height} = place.el.getBoundingClientRect()
    coming.style.cssText = `position: fixed; left: ${left}px; top: ${top}px; width: ${width}px;
      height: ${height}px; display: grid; place-content: center; font: 14px system-ui, sans-serif;
      color: ${getComputedStyle(place.el).color}; pointer-events: none`
    coming.textContent = `Making the page of ${value} …`
    document.body.append(coming)
  }

  component.connect_signals = function () {
    connect_signals.call(this)
    const classes = this.model.css_classes
    if (classes.includes("page-switch")) {
      names = this
      this.connect(this.model.data.properties.value.change, turn)
    } else if (classes.includes("page-place")) {
      place = this
    } else if (numberOf(this) !== undefined) {
      parts.add(this)
      this.connect(this.model.properties.visible.change, turn)
      if (names !== undefined) turn()
    }
  }

  component._on_mounted = function () {
    _on_mounted.call(this)
    if (parts.has(this) && names !== undefined) turn()
  }

  component.remove = function () {
    parts.delete(this)
    remove.call(this)
  }
})
