"""Faster creation of a page's models, by caching per class what is the same for all.

For each model, Bokeh and Panel look up and validate defaults, list linked properties, copy
parameters in order to read them, and traverse all models below it. That is more than half of the
time to create a page. The functions here cache these results. A test creates pages both ways and
compares them. If a library's internals have changed, the original code is used.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache, partial, wraps
from typing import Any

from genoviz_app.server.class_facts import (
    ClassFacts,
    describe_classes_once,
    find_parts_quickly,
    set_what_is_named,
    share_watchers,
)

log = logging.getLogger(__name__)


@cache
def make_models_quickly() -> None:
    """Install the per-class caches in this process; idempotent."""
    from bokeh.settings import settings

    settings.perform_error_diagnostics = False  # skips counting the arguments of each callback
    for remember in (
        _remember_defaults,
        _set_what_differs,
        _list_what_differs,
        _count_arguments_once,
        _remember_properties,
        _remember_files,
        _remember_styles,
        _copy_parameters_quickly,
        _list_parameters_once,
        _read_without_copies,
        find_parts_quickly,
        _tag_data_once,
        describe_classes_once,
        share_watchers,
        set_what_is_named,
    ):
        try:
            remember()
        except (ImportError, AttributeError, KeyError) as error:
            log.warning("pages come up more slowly: %s", error)


def keep_what_is_loaded() -> None:
    """Exempt loaded modules from collections of garbage: one that visits them takes 0.3 s."""
    gc.freeze()


def _remember_defaults() -> None:
    """Look up and validate a default once per class, unless a theme changes it."""
    from bokeh.core.has_props import HasProps
    from bokeh.core.property.descriptors import PropertyDescriptor

    overridden = _once(vars(HasProps)["_overridden_defaults"].__func__)
    HasProps._overridden_defaults = classmethod(overridden)
    HasProps.themed_values  # noqa: B018
    HasProps.themed_values = lambda self: vars(self).get("__themed_values__")
    find = PropertyDescriptor._get_default

    def get_default(self, obj):
        themed = obj.themed_values()
        if themed is None or self.name not in themed:
            plain = ClassFacts.of(obj).plain
            if self.name in plain:
                return plain[self.name]
        return find(self, obj)

    PropertyDescriptor._get_default = get_default


def _set_what_differs() -> None:
    """Let a new model skip values that equal its class defaults."""
    from bokeh.core.has_props import HasProps
    from bokeh.core.property.singletons import Intrinsic, Undefined

    made = "_property_values", "_unstable_default_values", "_unstable_themed_values"
    names = HasProps.__init__.__code__.co_names
    if any(name not in names for name in (*made, "has_unstable_default", "_initialized")):
        raise AttributeError("a model is made in another way")

    def init(self, **properties):
        super(HasProps, self).__init__()
        for name in made:
            setattr(self, name, {})
        facts = ClassFacts.of(self)
        plain = facts.plain
        for name, value in properties.items():
            if value is Undefined or value is Intrinsic:
                continue
            if name in plain and type(value) is type(plain[name]) and value == plain[name]:
                continue
            setattr(self, name, value)
        for descriptor in facts.parts:
            if descriptor.name not in properties:
                descriptor._get(self)
        self._initialized = True

    HasProps.__init__ = init


def _list_what_differs() -> None:
    """Serialise a model without looking up its class defaults."""
    from bokeh.core.has_props import HasProps
    from bokeh.core.property.descriptors import UnsetValueError
    from bokeh.core.property.singletons import Undefined
    from bokeh.core.property.wrappers import PropertyValueContainer

    ask = HasProps.query_properties_with_values

    def query(self, query, *, include_defaults=True, include_undefined=False):
        if include_defaults:
            return ask(self, query, include_undefined=include_undefined)
        required = ClassFacts.of(self).required
        own, made = self._property_values, self._unstable_default_values
        themed, found = self.themed_values() or {}, {}
        for name in self.properties(_with_props=True):
            is_own = name in own or name in themed
            if not is_own and name not in made and name not in required:
                continue
            descriptor = self.lookup(name)
            if not query(descriptor):
                continue
            try:
                value = descriptor.get_value(self)
            except UnsetValueError:
                if not include_undefined:
                    raise
                value = Undefined
            else:
                is_kept = name in made and not isinstance(value, PropertyValueContainer)
                if not (is_own or is_kept):
                    continue
            found[name] = value
        return found

    HasProps.query_properties_with_values = query


def _count_arguments_once() -> None:
    """Count the callback arguments of each method once."""
    from bokeh.util import callback_manager

    count = callback_manager._nargs
    counts: dict[Any, int] = {}

    def nargs(callback):
        if type(callback) is not partial or callback.keywords:
            return count(callback)
        key = (getattr(callback.func, "__func__", None), len(callback.args))
        if key[0] is None:
            return count(callback)
        if key not in counts:
            counts[key] = count(callback)
        return counts[key]

    callback_manager._nargs = nargs


def _remember_properties() -> None:
    """Compute once per class which properties are linked, its script, and what changes."""
    from panel.custom import ReactiveESM
    from panel.io.state import state
    from panel_material_ui.base import MaterialComponent
    from param import parameterized

    parameterized._is_mutable_container = _once(parameterized._is_mutable_container, type)
    for owner in (ReactiveESM, MaterialComponent):
        linked = _once(vars(owner)["_linked_properties"].fget, type)
        owner._linked_properties = property(linked)
    find = vars(ReactiveESM)["_component_resource_path"].__func__
    found = cache(lambda cls, path, compiled, _prefix: find(cls, path, compiled))
    ReactiveESM._component_resource_path = classmethod(
        lambda cls, esm_path, compiled: found(cls, esm_path, compiled, state.rel_path)
    )


def _remember_files() -> None:
    """Look up the scripts and styles of a class once; each page lists all of them."""
    from panel.custom import ReactiveESM
    from panel.io import resources
    from panel.io.state import state
    from panel.util import classproperty
    from panel_material_ui.base import MaterialComponent

    for owner, name in ((ReactiveESM, "_bundle_path"), (MaterialComponent, "_bundle_css")):
        ask = _once(vars(owner)[name].f, lambda cls: (cls, resources.RESOURCE_MODE))
        setattr(owner, name, classproperty(ask))
    find = resources.component_resource_path
    found = cache(lambda prefix, *of: find(*of))  # noqa: ARG005
    resources.component_resource_path = lambda *of: found(state.rel_path, *of)


def _remember_styles() -> None:
    """Compute the theme's styles once per class; each change of a text needs them."""
    from panel.io.state import state
    from panel_material_ui.theme import MaterialDesign

    find = vars(MaterialDesign)["_get_modifiers"].__func__
    found: dict[Any, tuple[dict, dict]] = {}

    def get_modifiers(cls, viewable, theme, isolated=None):
        is_served = bool(state.curdoc and state.curdoc.session_context)
        key = cls, type(viewable), theme if isinstance(theme, type) else type(theme), is_served
        if key not in found:
            found[key] = find(cls, viewable, theme, isolated)
        return tuple({**part} for part in found[key])

    MaterialDesign._get_modifiers = classmethod(get_modifiers)


def _once(
    ask: Callable[[Any], Any], key: Callable[[Any], Any] = lambda asked: asked
) -> Callable[[Any], Any]:
    """Cache a result for all equal arguments."""
    answers: dict[Any, Any] = {}

    @wraps(ask)
    def answer(asked):
        alike = key(asked)
        if alike not in answers:
            answers[alike] = ask(asked)
        return answers[alike]

    return answer


def _copy_parameters_quickly() -> None:
    """Copy a component's parameter without looking up each of its values.

    For each value, Param checks whether the parameter belongs to a class yet, and sets it as one
    that may be watched. That is a quarter of a million steps per tab.
    """
    from param import parameterized
    from param.parameterized import Parameter, Undefined

    get, put = object.__getattribute__, object.__setattr__
    find, copy_slots = vars(Parameter)["__getattribute__"], vars(Parameter)["__copy__"]
    make_copy, is_container = (
        parameterized._instantiate_param_obj,
        parameterized._is_mutable_container,
    )

    def getattribute(self, key, get=get, unknown=Undefined):
        value = get(self, key)
        return find(self, key) if value is unknown else value

    def instantiate_param_obj(paramobj, owner=None):
        kind = type(paramobj)
        if kind.__copy__ is not copy_slots:
            return make_copy(paramobj, owner)
        made = kind.__new__(kind)
        for slot in kind._all_slots_:
            value = get(paramobj, slot)
            is_copied = slot != "default" and is_container(value)
            put(made, slot, copy(value) if is_copied else value)
        put(made, "owner", owner)
        put(made, "watchers", {})
        return made

    Parameter.__getattribute__ = getattribute
    parameterized._instantiate_param_obj = instantiate_param_obj


def _list_parameters_once() -> None:
    """Let a component list its synced parameters once, rather than once for each of them."""
    from panel.reactive import Syncable

    def init_params(self):
        synced = frozenset(self._synced_params)
        values = {name: getattr(self, name) for name in self.param if name in synced}
        return {name: value for name, value in values.items() if value is not None}

    Syncable._init_params  # noqa: B018
    Syncable._init_params = init_params


def _read_without_copies() -> None:
    """Read a component's parameters from its class if it has none of its own."""
    from panel.custom import ReactiveESM
    from panel_material_ui.layout.base import MaterialDynamicNamedListLike
    from param import parameterized

    reading = threading.local()
    find = parameterized._instantiated_parameter

    def instantiated_parameter(owner, parameter):
        is_read = getattr(reading, "is_on", False)
        if is_read and parameter.name not in owner._param__private.params:
            return parameter
        return find(owner, parameter)

    @contextmanager
    def turned(is_on: bool) -> Iterator[None]:
        before, reading.is_on = getattr(reading, "is_on", False), is_on
        try:
            yield
        finally:
            reading.is_on = before

    def within(method: Callable[..., Any], is_on: bool) -> Callable[..., Any]:
        @wraps(method)
        def turned_method(self, *args, **kwargs):
            with turned(is_on):
                return method(self, *args, **kwargs)

        return turned_method

    ReactiveESM._get_properties = within(ReactiveESM._get_properties, True)
    ReactiveESM._get_children = within(ReactiveESM._get_children, True)
    for kind in (ReactiveESM, MaterialDynamicNamedListLike):
        kind._get_child_model = within(vars(kind)["_get_child_model"], False)
    parameterized._instantiated_parameter = instantiated_parameter


def _tag_data_once() -> None:
    """Stop the traversal that tags data with their root at parts that are already tagged."""
    from bokeh.model import DataModel
    from bokeh.model.util import collect_filtered_models
    from panel.reactive import ReactiveCustomBase

    def patch_datamodel_ref(props, ref):
        tag = f"__ref:{ref}"

        def is_tagged(model):
            data = getattr(model, "data", None)
            return isinstance(data, DataModel) and data is not props and tag in data.tags

        for model in collect_filtered_models(is_tagged, props):
            if isinstance(model, DataModel) and tag not in model.tags:
                model.tags.append(tag)

    ReactiveCustomBase._patch_datamodel_ref  # noqa: B018
    ReactiveCustomBase._patch_datamodel_ref = staticmethod(patch_datamodel_ref)
