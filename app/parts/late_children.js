// Children of Panel's React components that change at an unlucky moment are shown. Panel (1.9)
// compares the new children with those of the first time that the component was drawn. So children
// that return to these are not shown, and removed ones keep their place. And what changes between
// the first drawing and its effects, which a busy browser puts off, is not seen at all.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype
  const {_render_code} = component
  const hasChanged = "current_models.some((model, i) => model.id !== previous_models[i])"
  component._render_code = function () {
    return _render_code.call(this).replace(hasChanged, "true")
  }

  const view = component.default_view.prototype
  const {on_child_render} = view
  view.on_child_render = function (child, react) {
    on_child_render.call(this, child, react)
    react([]) // no view is new
  }
})
