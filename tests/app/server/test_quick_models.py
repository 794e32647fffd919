"""Pages whose models are made quickly are those that the libraries make, with less work."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from copy import copy
from functools import partial
from pathlib import Path
from random import Random
from textwrap import dedent

import param
import pytest
from bokeh.core.has_props import MetaHasProps, is_DataModel
from bokeh.core.has_props import _HasProps_to_serializable as describe
from bokeh.core.properties import Any, Bytes, Instance, Int, List, Override
from bokeh.core.serialization import Serializer
from bokeh.model import DataModel, Model, util
from bokeh.models import ColumnDataSource, LinearColorMapper, Range1d
from bokeh.plotting import figure
from panel import reactive
from panel.util import parameters
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
        make(sys.argv[-1])
    print(sum(row.callcount for row in profile.getstats()))
    make_models_quickly()
"""


@pytest.fixture(scope="module")
def made():
    """Pages as text, and the calls that the last took; in the libraries' way, and quickly."""
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


class Watched(param.Parameterized):
    """Has some parameters, and notes who was told of what."""

    a, b, c, d = (param.Integer() for _ in range(4))


@pytest.fixture
def own_register():
    """Param's own way to register a watcher, from its source."""
    module = sys.modules["param.parameterized"]
    source = Path(module.__file__).read_text()
    body = re.search(r"    def _register_watcher\(.*?\n(?=    def watch\()", source, re.DOTALL)[0]
    names = vars(module).copy()
    exec(
        compile("from __future__ import annotations\n" + dedent(body), module.__file__, "exec"),
        names,
    )
    return names["_register_watcher"]


@pytest.mark.parametrize("seed", range(8))
def test_watchers_are_told_as_in_params_own_way(own_register, monkeypatch, seed):
    """Watchers of some parameters each come and go; a change tells the same, in the same order."""
    make_models_quickly()
    Parameters = type(Watched.param)
    told = []
    for register in (Parameters._register_watcher, own_register):
        monkeypatch.setattr(Parameters, "_register_watcher", register)
        numbers, heard, watched, watchers = Random(seed), [], Watched(), []
        for step in range(60):
            act = numbers.choice(["watch", "watch", "unwatch", "set", "again"])
            if act == "watch":
                some = numbers.sample("abcd", numbers.randint(1, 4))
                note = partial(_note, heard, step)
                precedence = numbers.choice([0, 0, 1])
                watchers.append(watched.param.watch(note, some, precedence=precedence))
            elif act == "again" and watchers:
                watched.param.unwatch(watchers[-1])  # maybe a second time, which does nothing
            elif act == "unwatch" and watchers:
                watched.param.unwatch(watchers.pop(numbers.randrange(len(watchers))))
            else:
                some = numbers.sample("abcd", numbers.randint(1, 4))
                watched.param.update(dict.fromkeys(some, step))
        told.append((heard, {name: len(each["value"]) for name, each in _watchers_of(watched)}))
    assert told[0] == told[1]
    assert len(told[0][0]) > 5


def _note(heard, number, *events):
    heard.append((number, sorted(event.name for event in events)))


def _watchers_of(watched):
    return sorted(watched.param.watchers.items())


def test_parameters_that_the_same_watch_have_one_list():
    make_models_quickly()
    watched = Watched()
    watched.param.watch(print, ["a", "b", "c", "d"])
    watched.param.watch(print, ["a", "b"])
    of = watched.param.watchers
    assert of["a"] is of["b"]
    assert of["c"] is of["d"]
    assert [len(of[name]["value"]) for name in "abcd"] == [2, 2, 1, 1]


class Settings(param.Parameterized):
    """Has parameters of several kinds; some may not be set."""

    number = param.Number(1.5, bounds=(0, 10))
    drawn = param.Dynamic(default=lambda: 7)
    words = param.String("a")
    pressed = param.Event()
    kept = param.Integer(3, constant=True)
    fixed = param.Integer(4, readonly=True)


@pytest.fixture
def own_update():
    """Param's own way to set some parameters, from its source."""
    module = sys.modules["param.parameterized"]
    source = Path(module.__file__).read_text()
    body = re.search(r"    def _update\(.*?\n(?=    @property)", source, re.DOTALL)[0]
    names = vars(module).copy()
    exec(
        compile("from __future__ import annotations\n" + dedent(body), module.__file__, "exec"),
        names,
    )
    return names["_update"]


ACTS = (
    {"number": 2.5, "words": "b"},
    {"drawn": 3, "number": 2.5},
    {"pressed": True, "words": "c"},
    {"number": 11, "words": "d"},
    {"words": "e", "kept": 5},
    {"words": "f", "missing": 1},
    {"fixed": 1},
    {},
)


@pytest.mark.parametrize("act", ACTS, ids=str)
@pytest.mark.parametrize("again", [False, True], ids=["at once", "within another change"])
def test_parameters_are_set_together_as_in_params_own_way(own_update, monkeypatch, act, again):
    """The same values, told in the same events; what is refused leaves the same behind."""
    make_models_quickly()
    Parameters = type(Settings.param)
    outcomes = []
    for update in (Parameters._update, own_update):
        monkeypatch.setattr(Parameters, "_update", update)
        settings, told = Settings(), []
        settings.param.watch(told.append, ["number", "drawn", "words", "pressed", "kept"])
        if again:
            settings.param.watch(lambda _, own=settings: own.param.update(**act), "words")
            act_now = {"words": "first"}
        else:
            act_now = act
        refused = ""
        try:
            with settings.param.update(**act_now):
                told.append(sorted(map(str, settings.param.values().items())))
        except (ValueError, TypeError) as error:
            refused = str(error)
        events = [str(getattr(each, "name", each)) + str(getattr(each, "new", "")) for each in told]
        outcomes.append((refused, events, sorted(map(str, settings.param.values().items()))))
    assert [re.sub(r"Settings\d+", "", str(each)) for each in outcomes[:1]] == [
        re.sub(r"Settings\d+", "", str(each)) for each in outcomes[1:]
    ]


def test_what_may_not_be_set_is_set_from_the_browser_as_in_panels_own_way():
    make_models_quickly()
    outcomes = []
    for let in (parameters.edit_readonly, reactive.edit_readonly):
        settings = Settings()
        with let(settings):
            settings.param.update(kept=8, fixed=9)
        with pytest.raises(TypeError, match="Constant parameter 'name' cannot be modified"):
            settings.name = "other"
        every = settings.param.objects().values()
        flags = [(each.name, each.readonly, each.constant) for each in every]
        outcomes.append((settings.kept, settings.fixed, flags))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][:2] == (8, 9)


def test_a_parameter_that_is_not_there_cannot_be_watched():
    make_models_quickly()
    with pytest.raises(ValueError, match="nothing parameter was not found"):
        Watched().param.watch(print, ["a", "nothing"])
