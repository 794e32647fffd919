// Let what changes while a table is being made neither fail nor be lost. Panel's table takes over
// the state of its model when it is made: before that it throws, by which all else that came with
// the change is lost, and while it is under construction it drops rows. And let a name that is cut be
// read: a table's own tooltips would take it for HTML. And let a page have as many rows as there is
// room for: it had one where the first rows filled the room exactly.
document.addEventListener("DOMContentLoaded", () => {
  const view = Bokeh.Models.get("panel.models.tabulator.DataTabulator").prototype.default_view.prototype
  const {connect, render, restore_scroll, tableBuilt} = view

  view.connect = function (signal, react) {
    return connect.call(this, signal, (...change) => {
      const {tabulator} = this
      if (tabulator && !this._building) return react.apply(this, change)
      this.tabulator = undefined // half a table takes no change
      try {
        react.apply(this, change)
      } catch {
      } finally {
        this.tabulator = tabulator
      }
      // What the table itself changes is no news for it.
      const isOwn = this._updating_page || this._updating_sort || this._updating_page_size
      this.isBehind ||= !isOwn
    })
  }

  // It waits for a frame of the browser, in which there may still be no table.
  view.restore_scroll = function (...ways) {
    if (this.tabulator) restore_scroll.apply(this, ways)
  }

  view.render = function () {
    this.isBehind = false
    render.call(this)
  }

  view.recompute_page_size = function () {
    const {model, tabulator} = this
    const isFixed = model.page_size !== null && !this._automatic_page_size
    if (!model.pagination || isFixed || this._initializing || !tabulator) return
    this._automatic_page_size = true
    const holder = this.shadow_el.querySelector(".tabulator-tableholder")
    const heights = [...holder.querySelectorAll(".tabulator-row")].map((row) => row.offsetHeight)
    if (heights.length === 0) return
    this._updating_page_size = true
    try {
      model.page_size = Math.max(Math.floor(holder.clientHeight / Math.max(...heights)), 1)
    } finally {
      this._updating_page_size = false
    }
  }

  const tell = ({target}) => {
    const part = target.closest(".tabulator-cell, .tabulator-col-title")
    if (part === null) return
    const isCut = [part, ...part.children].some((each) => each.scrollWidth > each.clientWidth)
    part.title = isCut ? part.innerText : ""
  }

  // To those who hear it a grid has rows alone; the library's has the buttons of its pages, too, and
  // what scrolls is between it and its rows.
  const arrange = (place) => {
    const root = place.querySelector(".tabulator")
    const [header, rows] = [".tabulator-header", ".tabulator-tableholder"].map((part) => root?.querySelector(part))
    if (!header || !rows) return
    root.removeAttribute("role")
    root.removeAttribute("aria-owns")
    header.id = "columns"
    rows.setAttribute("role", "grid")
    rows.setAttribute("aria-owns", header.id)
  }

  // What the library calls a row by is a cell, too, which no one sees and which hears no click.
  const SEEN = ".tabulator-cell:not([tabulator-field=_index])"
  // Rows are walked through with the arrows, and Enter does what a click does.
  const steps = {ArrowDown: 1, ArrowUp: -1}
  const walk = (event) => {
    const {currentTarget: holder, key} = event
    const rows = [...holder.querySelectorAll(".tabulator-row")]
    const at = rows.findIndex((row) => row.id === "row-of-keys")
    if (key === "Enter" && at >= 0) rows[at].querySelector(SEEN).click()
    if (!(key in steps) || rows.length === 0) return
    const next = Math.max(0, Math.min(at + steps[key], rows.length - 1))
    for (const row of rows) row.removeAttribute("id")
    rows[next].id = "row-of-keys"
    rows[next].scrollIntoView({block: "nearest"})
    holder.setAttribute("aria-activedescendant", "row-of-keys")
    event.preventDefault()
  }

  view.tableBuilt = function () {
    tableBuilt.call(this)
    this.shadow_el.addEventListener("pointerover", tell)
    arrange(this.shadow_el)
    this.shadow_el.querySelector(".tabulator-tableholder")?.addEventListener("keydown", walk)
    if (this.isBehind) queueMicrotask(() => this.invalidate_render())
  }
})
