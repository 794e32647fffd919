document.addEventListener("DOMContentLoaded", () => {
  const GAP = 12
  const viewOf = (name) => Bokeh.Models.get(name).prototype.default_view.prototype
  const [canvas, html, line, mark, plot, tooltip] = [
    "Canvas", "panel.models.markup.HTML", "Span", "GlyphRenderer", "Plot", "Tooltip",
  ].map(viewOf)

  // Skip figures that are being created. A resize measures all figures, and one that is not drawn yet
  // throws.
  for (const step of ["_measure_layout", "_after_layout"]) {
    const take = plot[step]
    plot[step] = function () {
      if (this.layout != null) take.call(this)
    }
  }

  // What is drawn in a figure may be created later than the figure, and is not under the pointer then.
  const {hit_test} = mark
  mark.hit_test = function (geometry) {
    return this.glyph === undefined ? null : hit_test.call(this, geometry)
  }
  // A line across the figure has its place when it is first painted.
  const {_hit_test} = line
  line._hit_test = function (sx, sy) {
    return this.line === undefined ? null : _hit_test.call(this, sx, sy)
  }

  // Keep text changes that arrive while an HTML pane is being created. Panel's pane throws if its
  // element does not exist yet, which drops all other changes of the message. When it is drawn, it
  // takes the current text of its model.
  const {connect} = html
  html.connect = function (signal, react) {
    return connect.call(this, signal, (...change) => {
      if (this.container !== undefined) return react.apply(this, change)
      try {
        return react.apply(this, change)
      } catch {
      }
    })
  }

  // React draws a field from its model, and only later listens to the model. A value that arrives in
  // between would not be shown until the next one.
  const esm = Bokeh.Models.get("panel.models.esm.ReactiveESM").prototype
  const {watch} = esm
  esm.watch = function (view, name, react, isOfReact = false) {
    watch.call(this, view, name, react, isOfReact)
    if (isOfReact && !this.events.includes(name) && !this.children.includes(name)) react()
  }

  // Keep tooltips in the window. Long lines are wrapped. Tooltips are beside the pointer, and in a
  // narrow window neither side may have room: then they are below or above it, without an arrow.
  const {_reposition} = tooltip
  tooltip._reposition = function () {
    if (this.el !== undefined) this.el.style.maxWidth = "calc(100vw - 16px)"
    _reposition.call(this)
    if (!this.el?.isConnected) return
    const {left, right, height} = this.el.getBoundingClientRect()
    const shift = left < 0 ? -left : Math.min(innerWidth - right, 0)
    this.el.classList.toggle("bk-show-arrow", this.model.show_arrow && shift === 0)
    if (shift === 0) return
    const y = parseFloat(this.arrow_el.style.top)
    this.el.style.left = `${Math.max(left + shift, 0)}px`
    this.el.style.top = `${y + height + GAP <= innerHeight ? y + GAP : y - height - GAP}px`
  }

  // A figure has no keys of its own, so it is no stop of the Tab key; screen readers get its name from
  // its title or axes, which may change.
  const {render} = canvas
  canvas.render = function () {
    render.call(this)
    this.events_el.tabIndex = -1
    this.events_el.setAttribute("role", "img")
    this.events_el.setAttribute("aria-label", "Chart")
  }

  const labelOf = (axes) => axes.map((axis) => axis.axis_label).find((label) => label && typeof label === "string")
  const {_after_layout} = plot
  plot._after_layout = function () {
    _after_layout.call(this)
    const {title, left, below} = this.model
    const axes = [labelOf(left), labelOf(below)].filter(Boolean).join(" by ")
    this.canvas_view?.events_el.setAttribute("aria-label", title?.text || axes || "Chart")
  }
})
