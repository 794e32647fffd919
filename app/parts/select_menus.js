// Correct the ARIA roles of open select menus: a list box of options, with the selected one marked.
// The library renders menu items, with group names among them. A searchable menu has a field among
// its items, which is invalid in a list box. There, the list box is a separate element that owns
// the options, and the field is its combo box.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view.prototype
  const {after_rendered} = component

  let nOptions = 0
  const set = (element, attributes) => {
    for (const [name, value] of Object.entries(attributes)) {
      if (element.getAttribute(name) !== value) element.setAttribute(name, value)
    }
  }

  // The field would swallow all keys, including those that leave it.
  const onKey = (event, list) => {
    if (event.key === "Escape") {
      list.closest(".MuiPopover-root").querySelector(".MuiBackdrop-root").click()
    } else if (event.key === "ArrowDown") {
      list.querySelector("[role=option]")?.focus()
    } else {
      return
    }
    event.preventDefault()
    event.stopPropagation()
  }

  const call = (list, chosen, names) => {
    const field = list.querySelector("input:not([type=checkbox])")
    const options = []
    for (const item of list.children) {
      if (item.classList.contains("MuiListSubheader-root") || item.contains(field)) {
        set(item, {role: "presentation"})
      } else {
        item.id ||= `menu-option-${nOptions += 1}`
        options.push(item.id)
        const box = item.querySelector("input[type=checkbox]")
        const isChosen = box === null ? item.textContent === chosen : box.checked
        if (box !== null) {
          box.ariaLabel = item.textContent
          box.parentElement.inert = true  // the click goes to the item, which reports it
        }
        set(item, {role: "option", "aria-selected": String(isChosen)})
      }
    }
    if (field === null) {
      set(list, {role: "listbox"})
    } else {
      let box = list.parentElement.querySelector(":scope > .menu-options")
      if (box === null) {
        box = Object.assign(document.createElement("div"), {className: "menu-options"})
        box.id = list.id || `menu-options-${nOptions += 1}`
        list.removeAttribute("id")
        list.after(box)
        field.addEventListener("keydown", (event) => onKey(event, list), {capture: true})
      }
      set(box, {role: "listbox", "aria-label": names, "aria-owns": options.join(" ")})
      if (list.hasAttribute("aria-multiselectable")) set(box, {"aria-multiselectable": "true"})
      list.removeAttribute("aria-multiselectable")
      set(list, {role: "group"})
      set(field, {role: "combobox", "aria-expanded": "true", "aria-controls": box.id,
        "aria-autocomplete": "list", "aria-label": `Search: ${names}`})
    }
    for (const box of list.querySelectorAll("[role=presentation] input[type=checkbox]")) {
      box.ariaLabel = box.closest("li").textContent || "All of them"
    }
    for (const button of list.querySelectorAll("button")) {
      if (!button.textContent.trim()) button.ariaLabel ??= "Clear the search"
    }
  }

  component.after_rendered = function () {
    after_rendered.call(this)
    if (!("disabled_options" in this.model.data.attributes) || this.calls_options) return
    this.calls_options = true
    const follow = () => {
      for (const list of this.shadow_el.querySelectorAll("ul.MuiMenu-list")) {
        const chosen = this.shadow_el.querySelector(".MuiSelect-select")?.textContent
        call(list, chosen, this.model.data.label || "Options")
      }
    }
    new MutationObserver(follow).observe(this.shadow_el, {subtree: true, childList: true})
  }
})
