// Batch layouts. Panel lays out a component with all its descendants whenever one is added or
// resized. That is hundreds of times while a page is created, and each time forces the browser to
// measure.
document.addEventListener("DOMContentLoaded", () => {
  // Turn the spinner of an opening page 12 times a second instead of 60: without a GPU, its frames
  // took a seventh of a core from the opening itself.
  const calm = document.createElement("style")
  calm.textContent = "#loader .spinner { animation-timing-function: steps(12); }"
  document.head.append(calm)

  const viewOf = (name) => Bokeh.Models.get(name).prototype.default_view.prototype
  const component = viewOf("panel.models.esm.ReactiveESM")
  const {compute_layout, invalidate_layout, update_layout} = component
  const waiting = new Set(), stale = new Set()
  let isAsked = false

  const isBelow = (view, others) => {
    for (let above = view.parent; above != null; above = above.parent) {
      if (others.has(above)) return true
    }
    return false
  }

  const settle = () => {
    isAsked = false
    const views = [...waiting].filter((view) => !view.is_destroyed && !isBelow(view, waiting))
    const unstyled = [...stale].filter((view) => !view.is_destroyed && !isBelow(view, stale))
    waiting.clear()
    stale.clear()
    for (const view of unstyled) view.update_layout()
    for (const view of views) compute_layout.call(view)
  }

  component.compute_layout = function () {
    if (this.is_managed) return compute_layout.call(this)
    waiting.add(this)
    this._layout_computed = true
    if (!isAsked) document.hidden ? setTimeout(settle) : requestAnimationFrame(settle)
    isAsked = true
  }

  // A part that is added has the styles of all its neighbours written again.
  component.invalidate_layout = function () {
    if (this.is_managed) return invalidate_layout.call(this)
    stale.add(this)
    this.compute_layout()
  }

  const figure = viewOf("Plot")
  const {paint} = figure
  figure.paint = function () {
    if (waiting.size > 0) settle()
    paint.call(this)
  }

  // Bokeh reads CSS variables (--bk-...) whenever it draws or measures, which forces a style
  // recalculation. Nothing here sets such variables.
  Bokeh.require("core/visuals/visual").VisualProperties.prototype._get_css_value = () => ""

  // Rewriting a style sheet, even with the same text, forces a full style recalculation.
  let written = null
  const sheet = Bokeh.require("core/dom").InlineStyleSheet.prototype
  const write = sheet._update
  const {get: read} = Object.getOwnPropertyDescriptor(sheet, "css")
  Object.defineProperty(sheet, "css", {
    get() {
      return written?.get(this) ?? read.call(this)
    },
  })
  sheet._update = function (css) {
    if (written === null) return write.call(this, css)
    written.set(this, css)
  }
  component.update_layout = function () {
    if (written !== null) return update_layout.call(this)
    written = new Map()
    try {
      update_layout.call(this)
    } finally {
      const changed = written
      written = null
      for (const [each, css] of changed) {
        if (css !== each.css) write.call(each, css)
      }
    }
  }
})
