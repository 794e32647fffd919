// Give screen readers what panel-material-ui leaves out: names of progress bars, and the role of the
// icons that its tooltips name. React keeps attributes that it has not set.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view.prototype
  const {after_rendered} = component

  component.after_rendered = function () {
    after_rendered.call(this)
    for (const bar of this.shadow_el.querySelectorAll("[role=progressbar]:not([aria-label])")) {
      bar.ariaLabel = this.model.data.label || "Progress"
    }
    for (const icon of this.shadow_el.querySelectorAll("span[aria-label]:not([role])")) {
      icon.role = "img"
    }
  }
})
