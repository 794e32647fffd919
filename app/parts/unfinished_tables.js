// Fixes for Panel's Tabulator. (1) Keep changes that arrive while a table is being created: Panel
// throws before the table exists, which drops all other changes of the message, and loses rows
// during construction. (2) Show truncated text in a tooltip; the library would render it as HTML.
// (3) Compute the page size correctly; it was 1 if the first rows filled the height exactly.
// (4) Say that a table is being created. (5) Keep a change of size that comes while a table is being
// drawn or scrolled: Panel drops it, and the table would keep the rows of its size before. (6) Let
// titles that wrap when a table becomes narrower be seen whole: the library measures them before
// the columns have their new widths. (7) Do not make a table that was given up before it was made:
// its events would be taken for those of the next one.
document.addEventListener("DOMContentLoaded", () => {
  const view = Bokeh.Models.get("panel.models.tabulator.DataTabulator").prototype.default_view.prototype
  const {
    after_resize, connect, invalidate_render, remove, render, restore_scroll, style_redraw, tableBuilt,
  } = view
  const AGAIN_MILLISECONDS = 100

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

  view.after_resize = function () {
    clearTimeout(this.resizesAgain)
    after_resize.call(this)
    // When it is initialised, it takes its size by itself.
    if (this._initializing || !(this._is_scrolling || this.is_drawing)) return
    this.resizesAgain = setTimeout(() => this.after_resize(), AGAIN_MILLISECONDS)
  }

  view.remove = function () {
    clearTimeout(this.resizesAgain)
    remove.call(this)
  }

  const holderOf = (view) => view.shadow_el.querySelector(".tabulator-tableholder")
  const hasFocus = (view) => view.shadow_el.activeElement?.matches(".tabulator-tableholder") ?? false

  view.invalidate_render = function () {
    this.hadFocus ||= hasFocus(this)
    invalidate_render.call(this)
  }

  view.render = function () {
    this.isBehind = false
    this.el.toggleAttribute("data-unfinished", true) // the style says so until the table is there
    render.call(this)
    const {tabulator} = this, {_create} = tabulator
    tabulator._create = () => {
      if (!tabulator.destroyed) _create.call(tabulator)
    }
  }

  // A table is hidden until its styles are there, and what is hidden takes no focus.
  const returnFocus = (view) => {
    if (!view.hadFocus || view._building || view.container.style.visibility === "hidden") return
    const isFree = [null, document.body].includes(document.activeElement)
    if (isFree) holderOf(view)?.focus({preventScroll: true})
    view.hadFocus = false
    returnToRow(view)
  }

  view.style_redraw = function () {
    style_redraw.call(this)
    returnFocus(this)
  }

  view.recompute_page_size = function () {
    const {model, tabulator} = this
    const isFixed = model.page_size !== null && !this._automatic_page_size
    if (!model.pagination || isFixed || this._initializing || !tabulator) return
    this._automatic_page_size = true
    const holder = holderOf(this)
    if (holder === null) return  // the table is being rebuilt
    const heights = [...holder.querySelectorAll(".tabulator-row")].map((row) => row.offsetHeight)
    const highest = Math.max(...heights)
    if (!(highest > 0)) return  // there are no rows, or they are hidden
    this._updating_page_size = true
    try {
      model.page_size = Math.max(Math.floor(holder.clientHeight / highest), 1)
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
  const HEADS = ".tabulator-col.tabulator-sortable"
  // Arrow keys move through the rows, and Enter or Space acts like a click. Above the first row, they move
  // through the headers, where Enter sorts.
  const steps = {ArrowDown: 1, ArrowUp: -1}, columns = {ArrowRight: 1, ArrowLeft: -1}
  const isHere = (part) => part?.id === "row-of-keys"
  const walk = (view, event) => {
    const {currentTarget: holder, key} = event
    const rows = [...holder.querySelectorAll(".tabulator-row")]
    const heads = [...holder.parentElement.querySelectorAll(HEADS)].filter((head) => head.offsetWidth > 0)
    const [at, column] = [rows.findIndex(isHere), heads.findIndex(isHere)]
    // A table is one stop of the Tab key.
    if (key === "Tab") for (const box of holder.querySelectorAll("input")) box.tabIndex = -1
    if (key === "Enter" || key === " ") (rows[at]?.querySelector(SEEN) ?? heads[column])?.click()
    let next
    if (column >= 0) next = key === "ArrowDown" ? rows[0] : heads[column + (columns[key] ?? NaN)]
    else if (key === "ArrowUp" && at <= 0) next = heads[0]
    else if (key in steps) next = rows[Math.min(at + steps[key], rows.length - 1)]
    if (next !== undefined) {
      for (const part of [...rows, ...heads]) part.removeAttribute("id")
      next.id = "row-of-keys"
      next.scrollIntoView({block: "nearest", inline: "nearest"})
      holder.setAttribute("aria-activedescendant", "row-of-keys")
      view.rowOfKeys = shownRows(view).findIndex((row) => row.element === next)
    }
    if (key in steps || key === " " || (column >= 0 && key in columns)) event.preventDefault()
  }

  // Rows of the page that is shown; some of a long one have no element yet.
  const shownRows = (view) => view.tabulator.rowManager.getDisplayRows()
  const returnToRow = (view) => {
    const rows = shownRows(view)
    if (rows.some((row) => isHere(row.element))) return
    if (!hasFocus(view) && !view.hadFocus) view.rowOfKeys = -1 // whoever comes back begins above the first row
    const element = rows[view.rowOfKeys]?.getElement()
    if (element) element.id = "row-of-keys"
  }

  const measureTitlesLast = ({columnManager}) => {
    const {redraw} = columnManager
    columnManager.redraw = function (isWhole) {
      redraw.call(this, isWhole)
      if (this.element.offsetParent !== null) this.verticalAlignHeaders()
    }
  }

  view.tableBuilt = function () {
    tableBuilt.call(this)
    measureTitlesLast(this.tabulator)
    this.el.removeAttribute("data-unfinished")
    this.shadow_el.addEventListener("pointerover", tell)
    arrange(this.shadow_el)
    holderOf(this)?.addEventListener("keydown", (event) => walk(this, event))
    this.tabulator.on("renderComplete", () => returnToRow(this))
    returnToRow(this)
    returnFocus(this)
    if (this.isBehind) queueMicrotask(() => this.invalidate_render())
  }
})
