// Let the open menu of a field be what it is called: a list box of options, one of them selected. Its
// items are those of a menu, and names of groups stand bare among them. A menu that can be searched
// has a field among its items, which a list box cannot have: it is called a menu.
document.addEventListener("DOMContentLoaded", () => {
  const component = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view.prototype
  const {after_rendered} = component

  const call = (list, chosen) => {
    const isSearched = list.querySelector("input:not([type=checkbox])") !== null
    list.setAttribute("role", isSearched ? "menu" : "listbox")
    if (isSearched) list.removeAttribute("aria-multiselectable")
    for (const item of list.children) {
      if (item.classList.contains("MuiListSubheader-root")) {
        item.setAttribute("role", "presentation")
      } else if (!isSearched) {
        item.setAttribute("role", "option")
        item.setAttribute("aria-selected", String(item.textContent === chosen))
      }
    }
    for (const box of list.querySelectorAll("input[type=checkbox]")) {
      box.ariaLabel = box.closest("li").textContent
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
        call(list, this.shadow_el.querySelector("[role=combobox]")?.textContent)
      }
    }
    new MutationObserver(follow).observe(this.shadow_el, {subtree: true, childList: true})
  }
})
