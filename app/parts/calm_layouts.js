// Let what is inside a component be laid out once for all changes of a moment. Panel's components are
// laid out, with all below them, whenever one of them comes up or any part has another size: hundreds
// of times while a page is made, and each time the browser has to measure it.
document.addEventListener("DOMContentLoaded", () => {
  const viewOf = (name) => Bokeh.Models.get(name).prototype.default_view.prototype
  const component = viewOf("panel.models.esm.ReactiveESM")
  const {compute_layout, update_layout} = component
  const waiting = new Set()
  let isAsked = false

  const isBelowAnother = (view) => {
    for (let above = view.parent; above != null; above = above.parent) {
      if (waiting.has(above)) return true
    }
    return false
  }

  const settle = () => {
    isAsked = false
    const views = [...waiting].filter((view) => !view.is_destroyed && !isBelowAnother(view))
    waiting.clear()
    for (const view of views) compute_layout.call(view)
  }

  component.compute_layout = function () {
    if (this.is_managed) return compute_layout.call(this)
    waiting.add(this)
    this._layout_computed = true
    if (!isAsked) document.hidden ? setTimeout(settle) : requestAnimationFrame(settle)
    isAsked = true
  }

  const figure = viewOf("Plot")
  const {paint} = figure
  figure.paint = function () {
    if (waiting.size > 0) settle()
    paint.call(this)
  }

  // Bokeh looks for variables of style sheets (--bk-...) wherever it draws or measures, and each time
  // the browser has to bring all styles up to date. Nothing here sets any.
  Bokeh.require("core/visuals/visual").VisualProperties.prototype._get_css_value = () => ""

  // A style sheet that is written anew, though nothing in it is new, has the browser begin anew.
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
