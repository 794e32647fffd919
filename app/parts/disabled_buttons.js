// Let disabled buttons show a tooltip with the reason. A natively disabled element gets neither
// focus nor tooltip, so these buttons only have aria-disabled and the disabled style. React ignores
// clicks on them, because it disabled the element itself. The attribute stays until React has
// rendered the change; otherwise a click in between would be lost.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view.prototype
  const {after_rendered} = component

  // Buttons inside fields have only an icon; screen readers need a label.
  const name = (button, field) => {
    const place = button.closest(".MuiInputAdornment-root")
    if (place === null || button.ariaLabel || button.textContent.trim()) return
    const isColour = button.classList.contains("MuiColorInput-Button")
    const isLast = place.classList.contains("MuiInputAdornment-positionEnd")
    button.ariaLabel = `${field}: ${isColour ? "choose" : isLast ? "more" : "less"}`
  }

  const follow = ({shadow_el, model}) => {
    for (const button of shadow_el.querySelectorAll("button")) {
      name(button, model.data.label)
      if (!button.classList.contains("Mui-disabled")) {
        button.removeAttribute("aria-disabled")
      } else {
        button.disabled = false
        button.tabIndex = 0
        button.setAttribute("aria-disabled", "true")
      }
    }
  }

  // Hide the tooltip of an enabled button after a click, because it would cover the result.
  // Tooltips of disabled buttons stay, because they give the reason.
  const rest = (event) => {
    const button = event.target.closest("button")
    if (event.detail > 0 && button !== null && button.getAttribute("aria-disabled") !== "true") {
      button.dispatchEvent(new MouseEvent("mouseout", {bubbles: true, relatedTarget: document.body}))
    }
  }

  component.after_rendered = function () {
    after_rendered.call(this)
    const {data} = this.model
    const hasButtons = "description_delay" in data.attributes || "format" in data.attributes
    if (!hasButtons || this.follows_disabled) return
    this.follows_disabled = true
    this.shadow_el.addEventListener("click", rest)
    const observer = new MutationObserver(() => follow(this))
    observer.observe(this.shadow_el, {subtree: true, childList: true, attributeFilter: ["class", "disabled"]})
    follow(this)
  }
})
