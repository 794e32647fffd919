"""Pages whose models are made quickly are those that the libraries make, with less work."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from copy import copy

import param
import pytest
from bokeh.core.has_props import MetaHasProps, is_DataModel
from bokeh.core.has_props import _HasProps_to_serializable as describe
from bokeh.core.properties import Any, Bytes, Instance, Int, List, Override
from bokeh.core.serialization import Serializer
from bokeh.model import DataModel, Model, util
from bokeh.models import ColumnDataSource, LinearColorMapper, Range1d
from bokeh.plotting import figure
from param import parameterized

from genoviz_app.pages import PAGES
from genoviz_app.server.quick_models import make_models_quickly

MAKE = """
import cProfile, json, sys
import panel as pn
from bokeh.document import Document
from bokeh.themes import Theme
from panel.io.state import set_curdoc
from types import SimpleNamespace
from genoviz_app.dashboard import Dashboard
from genoviz_app.server.quick_models import make_models_quickly
from genoviz_app.theme import CHART_THEME

pn.extension("filedropper", "tabulator", notifications=True)
request = SimpleNamespace(arguments={}, headers={}, cookies={}, protocol="http", host="here")

def make(page):
    document = Document()
    document.theme = Theme(json=CHART_THEME)
    context = SimpleNamespace(
        id="tab", request=request, server_context=object(), session=None, _document=document
    )
    document._session_context = lambda: context
    with set_curdoc(document):
        dashboard = Dashboard(f"page={page}")
        dashboard.root.server_doc(document)
        dashboard.close()
        content = document.to_json().content
        content.pop("defs", None)  # which the first page of a process brings
        return json.dumps(content, default=lambda part: bytes(part.data).hex())

for way in range(2):
    for page in sys.argv[1:]:
        print(make(page))
    with cProfile.Profile() as profile:
        make(sys.argv[1])
    print(sum(row.callcount for row in profile.getstats()))
    make_models_quickly()
"""


@pytest.fixture(scope="module")
def made():
    """Pages as text, and the calls that the first took; in the libraries' way, and quickly."""
    command = [sys.executable, "-c", MAKE, *(page.slug for page in PAGES)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "more slowly" not in process.stderr, "a library has another shape"
    lines = process.stdout.splitlines()
    half = len(lines) // 2
    assert half == len(PAGES) + 1
    return lines[:half], lines[half:]


def without_numbers(page):
    """Return a page with its ids in their order instead of their numbers; colours are no ids."""
    order: dict[str, int] = {}
    identity = r'(?<![#\w])[a-zA-Z]+\d{3,}(?=\\?")'
    return re.sub(identity, lambda found: f"id{order.setdefault(found[0], len(order))}", page)


@pytest.mark.parametrize("number", range(len(PAGES)))
def test_a_page_is_the_same(made, number):
    plain, quick = (without_numbers(pages[number]) for pages in made)
    assert len(plain) > 50_000
    assert plain == quick


def test_a_page_takes_half_the_calls(made):
    plain, quick = (int(pages[-1]) for pages in made)
    assert quick < plain / 2


@pytest.fixture
def slow_walk():
    """Bokeh's own walk through the models below one, which `make_models_quickly` has replaced."""
    specification = importlib.util.find_spec("bokeh.model.util")
    own = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(own)
    make_models_quickly()
    assert util.collect_filtered_models.__code__ != own.collect_filtered_models.__code__
    return own.collect_filtered_models


def test_the_models_below_one_are_found_in_their_order(slow_walk):
    plot = figure(x_range=["a", "b"], title="c")
    source = ColumnDataSource({"x": ["a"], "y": [1]})
    colours = LinearColorMapper(palette=["#000000"])
    plot.vbar(
        "x", top="y", source=source, fill_color={"field": "y", "transform": colours}
    )  # which no bar of colours holds besides
    plot.tags = [{"held": (plot.yaxis[0].ticker, {"deep": [source]})}]
    found = util.collect_filtered_models(None, plot, [source])
    assert len(found) > 30
    assert found == slow_walk(None, plot, [source])
    assert colours in found
    no_axes = lambda model: model is plot.yaxis[0]  # noqa: E731
    fewer = util.collect_filtered_models(no_axes, plot)
    assert plot.yaxis[0] not in fewer
    assert fewer == slow_walk(no_axes, plot)


class Plain(DataModel):
    number = Int(default=3)
    items = List(Int, default=[1, 2])


class Derived(Plain):
    number = Override(default=4)


class WithPart(DataModel):
    part = Instance(Range1d, default=lambda: Range1d(0, 1))


class WithBytes(DataModel):
    raw = Bytes(default=b"raw")


class WithClass(DataModel):
    kind = Any(default=Range1d)


def test_classes_of_data_are_described_in_each_document_as_bokeh_does(monkeypatch):
    make_models_quickly()
    ways = {"slow": describe, "quick": Serializer._encoders[MetaHasProps]}
    assert ways["quick"] is not describe
    kinds = [kind for kind in Model.model_class_reverse_map.values() if is_DataModel(kind)]
    kinds = [Derived, Plain, Derived, Range1d, *(kind for kind in kinds if kind is not Derived)]
    assert len(kinds) > 100

    def own(value):
        """What belongs to one document, by its kind alone."""
        text = re.sub(r"'p\d+'|Buffer\(id='\w+'", "'own'", repr(value))
        return re.sub(r" at 0x\w+", "", text)

    for is_deferred in (False, True, True, False):
        found = {}
        for way, encode in ways.items():
            monkeypatch.setitem(Serializer._encoders, MetaHasProps, encode)
            serializer = Serializer(deferred=is_deferred)
            content = serializer.encode(kinds)
            n_bytes = len(serializer.buffers)
            found[way] = own(content), own(list(serializer._references.values())), n_bytes
        assert found["quick"] == found["slow"]


def test_a_part_by_default_belongs_to_one_document():
    make_models_quickly()
    first, second = (str(Serializer().encode([WithPart])) for _ in range(2))
    assert "Range1d" in first
    assert first != second


PARAMETERS = {
    "x": param.Selector(default=1, objects=[1, 2]),
    "named": param.Selector(objects={"a": 1, "b": 2}),
    "number": param.Number(default=2, bounds=(0, 9), constant=True),
    "items": param.List(default=[1], item_type=int),
    "text": param.String(default="x", regex="x*", label="Text"),
}


@pytest.fixture
def own_copy():
    """Param's own way to copy a parameter for one component."""
    specification = importlib.util.find_spec("param.parameterized")
    source = inspect.getsource(sys.modules["param.parameterized"])
    body = re.search(r"def _instantiate_param_obj\(.*?\n    return p\n", source, re.DOTALL)[0]
    names = vars(sys.modules["param.parameterized"]).copy()
    make_models_quickly()
    exec(
        compile("from __future__ import annotations\n" + body, specification.origin, "exec"), names
    )
    return names["_instantiate_param_obj"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_is_copied_with_all_that_it_has(own_copy, name):
    kind = type(
        "Kind", (param.Parameterized,), {each: copy(PARAMETERS[each]) for each in PARAMETERS}
    )
    owner, parameter = kind(), kind.param[name]
    parameter.watchers = {"value": ["of the class"]}
    slow, quick = own_copy(parameter, owner), parameterized._instantiate_param_obj(parameter, owner)
    for slot in parameter._all_slots_:
        assert getattr(quick, slot) == getattr(slow, slot), slot
        is_shared = getattr(slow, slot) is getattr(parameter, slot)
        assert (getattr(quick, slot) is getattr(parameter, slot)) == is_shared, slot
    assert quick.owner is owner
    assert quick.watchers == {}


def test_a_parameter_of_no_class_yet_has_what_its_kind_has():
    make_models_quickly()
    assert param.Number(default=2).bounds is None
    assert param.List().default == []
    assert param.Parameter().constant is False
