// Changes that reach Panel's React components (1.9) at an unlucky moment are neither lost nor undone.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype
  const {_render_code} = component
  const replacements = [
    // New children are compared with those of the first time that the component was drawn. So
    // children that return to these would not be shown, and removed ones would keep their place.
    ["current_models.some((model, i) => model.id !== previous_models[i])", "true"],
    // A drawn value is written to the model once its effects run, which a busy browser puts off.
    // If the server has changed the value meanwhile, the older one would replace it and be sent to
    // the server as if a person had entered it. So only what a person changes is written, at once.
    ["targetModel.setv({ [resolvedProp]: value })", ""],
    ["return [value, setValue]", `
      const write = React.useCallback((next) => {
        if (target.model.events.includes(resolvedProp)) return setValue(next)
        const old = targetModel.attributes[resolvedProp]
        targetModel.setv({[resolvedProp]: typeof next === "function" ? next(old) : next})
        setValue(() => targetModel.attributes[resolvedProp])
      }, [])
      return [value, write]`],
  ]
  component._render_code = function () {
    return replacements.reduce(
      (code, [old, own]) => code.replace(old, () => own), _render_code.call(this))
  }

  // What changes between the first drawing of children and its effects would not be seen at all.
  const view = component.default_view.prototype
  const {on_child_render} = view
  view.on_child_render = function (child, react) {
    on_child_render.call(this, child, react)
    react([]) // no view is new
  }
})
