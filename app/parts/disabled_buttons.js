// Let a button that cannot be pressed say why. A disabled element of the browser takes no focus, and
// its tooltip never comes up; so it is one that is called disabled and looks so, no more. A press
// of it does nothing: React hands on none where it has disabled the element itself. It is called
// so until React has drawn it anew, which comes after its model has changed; else a press that comes
// in between would be lost.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view.prototype
  const {after_rendered} = component

  // Buttons inside of fields have but a picture, and say nothing to those who do not see it.
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

  // What a button does is known to whoever has pressed it, and its tooltip would hide what comes;
  // why it cannot be pressed is not. The tooltip hears that the pointer has left.
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
