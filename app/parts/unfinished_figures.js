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
