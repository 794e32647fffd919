// Let a figure that is being made be passed over: whatever changes its size meanwhile has all
// figures measured, and one that is not drawn yet has nothing to measure and throws.
document.addEventListener("DOMContentLoaded", () => {
  const view = Bokeh.Models.get("Plot").prototype.default_view.prototype
  for (const step of ["_measure_layout", "_after_layout"]) {
    const take = view[step]
    view[step] = function () {
      if (this.layout != null) take.call(this)
    }
  }
})

// Let text that comes or goes while it is being made neither fail nor be lost: Panel's pane of HTML
// reaches for what it is drawn in, and throws where there is nothing yet, by which all else that
// came with the change is lost. When it is drawn it takes what its model says by then.
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
