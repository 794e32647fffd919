// Skip figures that are being created. A resize measures all figures, and one that is not drawn yet
// throws.
document.addEventListener("DOMContentLoaded", () => {
  const view = Bokeh.Models.get("Plot").prototype.default_view.prototype
  for (const step of ["_measure_layout", "_after_layout"]) {
    const take = view[step]
    view[step] = function () {
      if (this.layout != null) take.call(this)
    }
  }
})

// What is drawn in a figure may be created later than the figure, and is not under the pointer then.
document.addEventListener("DOMContentLoaded", () => {
  const view = Bokeh.Models.get("GlyphRenderer").prototype.default_view.prototype
  const {hit_test} = view
  view.hit_test = function (geometry) {
    return this.glyph === undefined ? null : hit_test.call(this, geometry)
  }
  // A line across the figure has its place when it is first painted.
  const line = Bokeh.Models.get("Span").prototype.default_view.prototype
  const {_hit_test} = line
  line._hit_test = function (sx, sy) {
    return this.line === undefined ? null : _hit_test.call(this, sx, sy)
  }
})

// Keep text changes that arrive while an HTML pane is being created. Panel's pane throws if its
// element does not exist yet, which drops all other changes of the message. When it is drawn, it
// takes the current text of its model.
document.addEventListener("DOMContentLoaded", () => {
  const view = Bokeh.Models.get("panel.models.markup.HTML").prototype.default_view.prototype
  const {connect} = view
  view.connect = function (signal, react) {
    return connect.call(this, signal, (...change) => {
      if (this.container !== undefined) return react.apply(this, change)
      try {
        return react.apply(this, change)
      } catch {
      }
    })
  }
})

// A figure has no keys of its own, so it is no stop of the Tab key; screen readers get its name from
// its title or axes, which may change.
document.addEventListener("DOMContentLoaded", () => {
  const viewOf = (name) => Bokeh.Models.get(name).prototype.default_view.prototype
  const [canvas, plot] = [viewOf("Canvas"), viewOf("Plot")]
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
