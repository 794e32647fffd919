// Fixes for Panel's Tabulator. (1) Keep changes that arrive while a table is being created: Panel
// throws before the table exists, which drops all other changes of the message, and loses rows
// during construction. (2) Show truncated text in a tooltip; the library would render it as HTML.
// (3) Compute the page size correctly; it was 1 if the first rows filled the height exactly.
document.addEventListener("DOMContentLoaded", () => {
  const view = Bokeh.Models.get("panel.models.tabulator.DataTabulator").prototype.default_view.prototype
  const {connect, render, restore_scroll, tableBuilt} = view

  view.connect = function (signal, react) {
    return connect.call(this, signal, (...change) => {
      const {tabulator} = this
      if (tabulator && !this._building) return react.apply(this, change)
      this.tabulator = undefined // an unfinished table cannot be updated
      try {
        react.apply(this, change)
      } catch {
      } finally {
        this.tabulator = tabulator
      }
      // Changes made by the table itself need no update.
      const isOwn = this._updating_page || this._updating_sort || this._updating_page_size
      this.isBehind ||= !isOwn
    })
  }

  // Panel calls it in an animation frame, when the table may not exist yet.
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
    if (holder === null) return  // the table is being rebuilt
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

  // Correct the ARIA roles: a grid may contain only rows, but the library's grid includes paging
  // buttons and a scroll container.
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

  // The hidden index column is a cell too, but ignores clicks.
  const SEEN = ".tabulator-cell:not([tabulator-field=_index])"
  // Arrow keys move through the rows, and Enter acts like a click.
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
