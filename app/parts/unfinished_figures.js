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
