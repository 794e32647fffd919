// Switch pages without waiting for the server: an existing page is shown at once, and a page to be
// created is replaced by a message. A docked page is shown with the first one, positioned by the
// style sheets.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view.prototype
  const {_on_mounted, connect_signals, remove} = component
  const parts = new Set()
  let names, place

  const numberOf = (part) => part.model.css_classes.find((each) => each.startsWith("of-page-"))
  const coming = document.createElement("div")
  coming.className = "page-is-coming"
  coming.setAttribute("role", "status")
  let covered
  const cover = () => {
    const {left, top, width, height} = covered.getBoundingClientRect()
    coming.style.cssText = `position: fixed; left: ${left}px; top: ${top}px; width: ${width}px;
      height: ${height}px; display: grid; place-content: center; font: 14px system-ui, sans-serif;
      color: ${getComputedStyle(place.el).color}; pointer-events: none`
  }
  const resized = new ResizeObserver(() => coming.isConnected && cover())

  // The page docked beside or below the first page in a wide window: number and side.
  const isWide = matchMedia("(min-width: 900px)")
  const readSplit = (shown) => {
    const docks = place?.model.css_classes.find((each) => each.startsWith("docks-"))
    if (docks === undefined || shown !== "of-page-0" || !isWide.matches) return {}
    const [, number, side] = docks.split("-")
    return {docked: `of-page-${number}`, side}
  }

  const turn = () => {
    const {options, value} = names.model.data
    // In a narrow window, the names scroll.
    const name = names.shadow_el.querySelectorAll("button")[options.indexOf(value)]
    name?.scrollIntoView({block: "nearest", inline: "nearest"})
    const wanted = `of-page-${options.indexOf(value)}`
    const {docked, side} = readSplit(wanted)
    const missing = new Set(docked === undefined ? [wanted] : [wanted, docked])
    for (const part of parts) {
      const number = numberOf(part)
      part.model.setv({visible: number === wanted || number === docked}, {sync: false})
      part.el.toggleAttribute("data-docked", number === docked)
      if (side === undefined) part.el.removeAttribute("data-beside")
      else part.el.setAttribute("data-beside", side)
      if (part.parent === place && part.mounted) missing.delete(number)
    }
    if (place === undefined) return coming.remove()
    if (side === undefined) place.el.removeAttribute("data-split")
    else {
      const isNew = place.el.getAttribute("data-split") !== side
      place.el.setAttribute("data-split", side)
      if (isNew && side === "beside") document.dispatchEvent(new Event("page-beside"))
    }
    if (missing.size === 0) return coming.remove()
    const isDocked = !missing.has(wanted)
    covered = isDocked ? place.el.shadowRoot.querySelector(".page-divider") ?? place.el : place.el
    cover()
    const [number] = [...missing].map((each) => Number(each.split("-")[2]))
    coming.textContent = `Making the page of ${options[number]} …`
    document.body.append(coming)
  }
  isWide.addEventListener("change", () => names !== undefined && turn())
  // A window that is made narrower has room for two pages or for the drawer (window_ways.js).
  matchMedia("(max-width: 1199px)").addEventListener("change", () => {
    if (place?.el.getAttribute("data-split") === "beside") document.dispatchEvent(new Event("page-beside"))
  })

  component.connect_signals = function () {
    connect_signals.call(this)
    const classes = this.model.css_classes
    if (classes.includes("page-switch")) {
      names = this
      this.connect(this.model.data.properties.value.change, turn)
    } else if (classes.includes("page-place")) {
      place = this
      resized.disconnect()
      resized.observe(this.el)
      this.connect(this.model.properties.css_classes.change, () => names !== undefined && turn())
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
