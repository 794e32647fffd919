"""Changes that arrive while the browser creates a page are neither lost nor expensive."""

from __future__ import annotations

from tests.browser.conftest import LONGEST_TRY

# A table with the columns of one of the page, created step by step; returns errors, its row
# numbers, and its page size once hidden.
MAKE = """async () => {
  const Table = Bokeh.Models.get("panel.models.tabulator.DataTabulator")
  const models = [...Bokeh.documents[0]._all_models.values()]
  const shown = models.find((model) => model instanceof Table && model.source.get_length() > 5)
  const {columns, configuration, layout, select_mode} = shown
  const rows = (n) => Object.fromEntries(
    shown.source.columns().map((name) => [name, shown.source.get_column(name).slice(0, n)]))
  const source = new shown.source.constructor({data: rows(1)})
  const model = new Table({
    columns, configuration, layout, select_mode, source,
    pagination: "remote", page: 1, max_page: 1, page_size: 20,
  })
  const prepare = () => {
    const view = new Table.prototype.default_view({model, parent: null})
    view.initialize()
    view.connect_signals()
    return view
  }
  const failed = [], early = prepare()
  const change = (signal, value) => {
    try { signal.emit(value) } catch (error) { failed.push(error.message) }
  }
  for (const name of ["max_page", "page_size", "page", "sorters", "columns", "visible"]) {
    change(model.properties[name].change)
  }
  change(source.patching, [])
  early.remove()

  const view = prepare(), counts = []
  document.body.append(view.el)
  view.rerender_()
  const signs = [view.el.hasAttribute("data-unfinished")]
  for (const n of [3, 2]) {  // at once, and when the table is made
    source.data = rows(n)
    const count = () => view.shadow_el.querySelectorAll(".tabulator-row").length
    for (let i = 0; count() !== n && i < 1200; i += 1) {
      await new Promise((then) => setTimeout(then, 50))
    }
    counts.push(count())
  }
  signs.push(view.el.hasAttribute("data-unfinished"))
  view.el.style.display = "none"
  view._automatic_page_size = true
  view.recompute_page_size()  // a hidden row has no height
  const {page_size} = model
  view.remove()
  return {failed, counts, signs, page_size}
}"""


def test_changes_reach_a_table_that_is_being_made(visit):
    visit.show_tab("Paths")
    visit.until(lambda: visit.page.locator(".tabulator-row").count() > 5)
    made = visit.page.evaluate(MAKE)
    signs = [True, False]  # "Making this table …"
    assert made == {"failed": [], "counts": [3, 2], "signs": signs, "page_size": 20}
    assert visit.errors == []


# What the pointer finds in a figure whose points are not created yet.
POINT = """() => {
  const view = Bokeh.Models.get("GlyphRenderer").prototype.default_view.prototype
  const unfinished = Object.create(view, {model: {value: {visible: true}}})
  return unfinished.hit_test({type: "point", sx: 1, sy: 1})
}"""


def test_a_pointer_finds_nothing_in_a_figure_that_is_being_made(visit):
    assert visit.page.evaluate(POINT) is None


# Number of rows per page for some numbers of rows of 25 px, with room for four.
FITS = """(n) => {
  const Table = Bokeh.Models.get("panel.models.tabulator.DataTabulator")
  const view = Table.prototype.default_view.prototype
  const place = document.createElement("div")
  const row = '<div class="tabulator-row" style="height: 25px"></div>'
  const holder = '<div class="tabulator-tableholder" style="height: 100px">'
  const root = place.attachShadow({mode: "open"})  // where no style of the page counts
  root.innerHTML = `${holder}${row.repeat(n)}</div>`
  document.body.append(place)
  const model = {pagination: "remote", page_size: null}
  view.recompute_page_size.call({model, tabulator: {}, shadow_el: root})
  place.remove()
  return model.page_size
}"""


def test_a_page_of_a_table_has_as_many_rows_as_there_is_room_for(visit):
    assert [visit.page.evaluate(FITS, n) for n in (0, 1, 4, 20)] == [None, 4, 4, 4]


# Draws a shown table again, so narrow that a title of three words wraps. Returns whether it did,
# and whether all titles are within their row.
NARROW = """() => {
  const Table = Bokeh.Models.get("panel.models.tabulator.DataTabulator")
  const find = (view) => view.model instanceof Table && view.el.offsetHeight > 0
    ? view : (view.child_views ?? []).map(find).find((each) => each)
  const view = Bokeh.index.roots.map(find).find((each) => each)
  const titles = () => [...view.shadow_el.querySelectorAll(".tabulator-col-title")]
  const highest = () => Math.max(...titles().map((title) => title.offsetHeight))
  const isWhole = () => {
    const row = view.shadow_el.querySelector(".tabulator-header").getBoundingClientRect()
    return titles().every((title) => title.getBoundingClientRect().bottom <= row.bottom + 1)
  }
  const before = highest(), name = titles().find((title) => title.innerText === "Name")
  name.textContent = "Name Name Name"
  view.el.style.setProperty("max-width", "300px", "important")
  view.tabulator.redraw()
  const found = [highest() > 1.5 * before, isWhole()]
  view.el.style.removeProperty("max-width")
  name.textContent = "Name"
  return found
}"""


def test_titles_that_wrap_in_a_narrow_table_are_seen_whole(visit):
    visit.show_tab("Paths")
    visit.until(lambda: visit.page.locator(".tabulator-row").count() > 5)
    assert visit.page.evaluate(NARROW) == [True, True]


# Changes the height of a shown table while it scrolls, as it does whenever it is redrawn. Returns
# whether it has taken its new height.
RESIZE = """async () => {
  const Table = Bokeh.Models.get("panel.models.tabulator.DataTabulator")
  const find = (view) => view.model instanceof Table && view.el.offsetHeight > 0
    ? view : (view.child_views ?? []).map(find).find((each) => each)
  const view = Bokeh.index.roots.map(find).find((each) => each), {style} = view.el
  // A change of three pixels is none.
  const taken = () => Math.abs(view._last_after_resize_el_height - view.el.clientHeight) < 4
  const until = async (condition) => {
    for (let i = 0; !condition() && i < 1200; i += 1) {
      await new Promise((then) => setTimeout(then, 50))
    }
  }
  await until(() => taken() && !view.is_drawing && !view._is_scrolling)
  const observed = new Promise((then) => new ResizeObserver((entries, observer) => {
    if (taken()) return
    observer.disconnect()
    then()
  }).observe(view.el))
  view._is_scrolling = true
  style.flex = "none"
  style.height = "150px"
  await observed
  view._is_scrolling = false
  await until(taken)
  const found = [view.el.clientHeight, taken()]
  style.flex = style.height = ""
  return found
}"""


def test_a_table_that_scrolls_takes_its_new_height_afterwards(visit):
    visit.show_tab("Paths")
    visit.until(lambda: visit.page.locator(".tabulator-row").count() > 5)
    assert visit.page.evaluate(RESIZE) == [150, True]
    assert visit.errors == []


# Draws the shown table again, with new rows or as a whole, and waits until it is there; also twice,
# before the first one is made, or with styles that come late. Returns the positions of the rows
# that the keys have come to, and whether the focus is there.
DRAW_AGAIN = """async (way) => {
  const Table = Bokeh.Models.get("panel.models.tabulator.DataTabulator")
  const find = (view) => view.model instanceof Table && view.el.offsetHeight > 0
    ? view : (view.child_views ?? []).map(find).find((each) => each)
  const view = Bokeh.index.roots.map(find).find((each) => each)
  const rows = () => [...view.shadow_el.querySelectorAll(".tabulator-row")]
  const [before] = rows(), n = rows().length
  const holder = () => view.shadow_el.querySelector(".tabulator-tableholder")
  const old = holder()
  const {style_redraw} = view
  let hasStyles = way !== "late styles"
  if (!hasStyles) view.style_redraw = () => setTimeout(() => {
    style_redraw.call(view)
    hasStyles = true
  }, 300)
  if (way === "rows") view.model.source.properties.data.change.emit()
  else view.invalidate_render()
  if (way === "twice") view.invalidate_render()
  const isThere = () => rows().length === n && !before.isConnected && hasStyles
    && (way === "rows" || (holder() !== old && !view._building))
  for (let i = 0; !isThere() && i < 1200; i += 1) {
    await new Promise((then) => setTimeout(then, 50))
  }
  delete view.style_redraw
  const here = rows().flatMap((row, i) => row.id === "row-of-keys" ? [i] : [])
  return [here, view.shadow_el.activeElement === holder()]
}"""


def test_keys_stay_at_their_row_when_a_table_is_drawn_again(visit):
    """They did nothing any more if the table was fitted to its height at that moment."""
    visit.show_tab("Paths")
    rows = visit.page.locator(".tabulator-row:visible")
    visit.until(lambda: rows.count() > 5)
    visit.page.locator(".tabulator-tableholder:visible").first.focus()
    for _ in range(3):
        visit.page.keyboard.press("ArrowDown")
    for way in ("rows", "whole", "twice", "late styles"):
        assert (way, visit.page.evaluate(DRAW_AGAIN, way)) == (way, [[2], True])
    visit.page.keyboard.press("ArrowUp")
    assert visit.page.evaluate(DRAW_AGAIN, "rows") == [[1], True]
    visit.page.evaluate("() => document.activeElement.blur()")
    assert visit.page.evaluate(DRAW_AGAIN, "rows") == [[], False]
    assert visit.errors == []


# Number of layouts of a figure for 20 changes of its container.
LAID_OUT = """async () => {
  const find = (view) => view.model.type === "Figure" && view.el.isConnected
    ? view : (view.child_views ?? []).map(find).find((each) => each)
  const figure = Bokeh.index.roots.map(find).find((each) => each)
  const take = figure._after_layout
  let n = 0
  figure._after_layout = function () {
    n += 1
    take.call(this)
  }
  for (let i = 0; i < 20; i += 1) figure.parent.invalidate_layout()
  const before = n
  while (n === before) await new Promise((then) => setTimeout(then, 50))
  delete figure._after_layout
  return n
}"""


def test_what_a_figure_is_in_may_change_often(visit):
    visit.until(lambda: visit.page.locator(".bk-Figure").count() > 0)
    assert visit.page.evaluate(LAID_OUT) < 20


# Minimum ms between two checks of FilePond's fields after an event.
LOOKS = """(event) => new Promise((done) => {
  const {readers} = window.__framePainter, looks = []
  const look = () => {
    looks.push(performance.now())
    if (looks.length < 8) return
    readers.splice(readers.indexOf(look), 1)
    done(Math.min(...looks.slice(1).map((time, i) => time - looks[i])))
  }
  readers.push(look)
  if (event) window.dispatchEvent(new Event(event))
})"""


def test_a_page_at_rest_is_not_looked_at_in_each_frame(visit):
    """By default, FilePond checks sixty times per second."""
    visit.until(lambda: visit.n_painted > 0)
    visit.until(lambda: visit.page.evaluate(LOOKS, "") > 150)
    visit.until(lambda: visit.page.evaluate(LOOKS, "dragenter") < 150)
    assert visit.errors == []


# An HTML pane that is updated before it is drawn: errors, and its final text.
SHOW_EARLY = """() => {
  const Pane = Bokeh.Models.get("panel.models.markup.HTML")
  const model = new Pane({text: "early", visible: false})
  const view = new Pane.prototype.default_view({model, parent: null})
  view.initialize()
  view.connect_signals()
  const failed = []
  for (const change of [{visible: true}, {text: "late"}]) {
    try { model.setv(change) } catch (error) { failed.push(error.message) }
  }
  document.body.append(view.el)
  view.rerender_()
  const says = view.shadow_el.textContent
  view.remove()
  return {failed, says: says.includes("late")}
}"""


def test_changes_reach_a_pane_that_is_being_made(visit):
    assert visit.page.evaluate(SHOW_EARLY) == {"failed": [], "says": True}


# From now on, the text of a field changes after React has drawn it and before React listens to it.
CHANGE_LATE = """() => {
  const component = Bokeh.Models.get("panel.models.esm.ReactiveESM").prototype
  const {watch} = component
  component.watch = function (view, name, ...rest) {
    if (name === "value_input") this.data.setv({value_input: "late"})
    watch.call(this, view, name, ...rest)
  }
  window.stopChanges = () => { component.watch = watch }
}"""


def test_a_change_reaches_a_field_that_is_being_made(visit):
    field = visit.page.get_by_label("Path on the server")
    assert field.count() == 0, "it is made when it is first shown"
    visit.page.evaluate(CHANGE_LATE)
    try:
        visit.show_tab("Server")
        visit.until(lambda: field.input_value() == "late", LONGEST_TRY)
    finally:
        visit.page.evaluate("window.stopChanges()")
        visit.show_tab("Samples")
    assert visit.errors == []


# The texts of the children of a column on the page, whether they are shown, and its number of
# places, after: a child that came between the first drawing and its effects; two that came next;
# the first alone; and none.
CHILDREN = """async () => {
  const models = [...Bokeh.documents[0]._all_models.values()]
  const isEmptyColumn = (each) => each.class_name === "Column" && each.data?.objects?.length === 0
  const model = models.find(isEmptyColumn)
  const find = (view) => view.model === model
    ? view : (view.child_views ?? []).map(find).find((each) => each)
  const view = Bokeh.index.roots.map(find).find((each) => each)
  const HTML = Bokeh.Models.get("panel.models.markup.HTML")
  const [first, second] = ["first", "second"].map((text) => new HTML({text}))
  const until = async (condition) => {
    for (let i = 0; !condition() && i < 1200; i += 1) {
      await new Promise((then) => setTimeout(then, 50))
    }
  }
  const places = () => view.container.querySelectorAll(".child-wrapper").length
  const shown = () => view.child_views.map((each) => [each.model.text, each.el.isConnected])
  const put = (objects) => model.data.setv({objects}, {sync: false})
  const found = []
  const see = async (n) => {
    await until(() => view.child_views.length === n && places() === n
      && shown().every(([, isShown]) => isShown))
    found.push([...shown(), places()])
  }

  const late = []
  view.on_child_render = (...effect) => late.push(effect)
  view.rerender_()
  await until(() => late.length > 0)
  put([first])
  await until(() => view.child_views.length > 0)
  delete view.on_child_render
  for (const effect of late) view.on_child_render(...effect)
  await see(1)

  view.rerender_()
  await until(() => places() === 1)
  for (const objects of [[second, first], [first], []]) {
    put(objects)
    await see(objects.length)
  }
  return found
}"""


def test_children_of_a_column_that_come_late_or_come_back_are_shown(visit):
    visit.until(lambda: visit.page.evaluate("() => Bokeh.documents[0].is_idle"))
    assert visit.page.evaluate(CHILDREN) == [
        [["first", True], 1],
        [["second", True], ["first", True], 2],
        [["first", True], 1],
        [0],
    ]
    assert visit.errors == []


# The label of a field, on the page and in its model, after two changes: the second one comes when
# the first is drawn and its effects have not run.
CHANGE_TWICE = """async () => {
  const find = (view) => view.model.data?.attributes?.label === "Path on the server"
    ? view : (view.child_views ?? []).map(find).find((each) => each)
  const view = Bokeh.index.roots.map(find).find((each) => each)
  const {data} = view.model, before = data.label
  const shown = () => view.shadow_el.querySelector("label").textContent
  const until = async (condition) => {
    for (let i = 0; !condition() && i < 1200; i += 1) {
      await new Promise((then) => setTimeout(then, 50))
    }
  }
  const sent = []
  const hear = () => sent.push(data.label)
  data.properties.label.change.connect(hear)
  const observer = new MutationObserver(() => {
    if (shown() !== "first") return
    observer.disconnect()
    data.setv({label: "second"}, {sync: false})
  })
  observer.observe(view.shadow_el, {subtree: true, childList: true, characterData: true})
  data.setv({label: "first"}, {sync: false})
  await until(() => sent.length > 1 && shown() === "second")
  const found = [shown(), data.label, ...sent]
  data.properties.label.change.disconnect(hear)
  data.setv({label: before}, {sync: false})
  await until(() => shown() === before)
  return found
}"""


def test_a_change_is_not_undone_by_an_older_one(visit):
    visit.show_tab("Server")
    visit.until(lambda: visit.page.get_by_label("Path on the server").count() > 0, LONGEST_TRY)
    try:
        found = visit.page.evaluate(CHANGE_TWICE)
    finally:
        visit.show_tab("Samples")
    assert found == ["second", "second", "first", "second"]
    assert visit.errors == []
