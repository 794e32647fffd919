"""Per-class caches for Bokeh models, and faster lookup of models.

Bokeh traverses all models of a page at each change of its structure, and lists them for each
message. Param stores the watchers of each parameter of each component, although most are the same.
"""

from __future__ import annotations

import threading
from collections import ChainMap, deque
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

PLAIN = (type(None), bool, int, float, str)


@dataclass(frozen=True)
class ClassFacts:
    """Properties that all models of a class share.

    Attributes
    ----------
    plain
        Defaults that are numbers, strings or booleans.
    parts
        Descriptors whose default differs per model: a model, or the value of a function. Empty
        lists and dicts are not included, because a model returns these when asked for them.
    required
        Names of properties without a default.
    holders
        Names of properties that may hold models, each with whether this also applies to models
        without a value of their own.
    """

    plain: dict[str, Any]
    parts: tuple[Any, ...]
    required: frozenset[str]
    holders: tuple[tuple[str, bool], ...]

    known: ClassVar[dict[type, ClassFacts]] = {}

    @classmethod
    def of(cls, model: Any) -> ClassFacts:
        """Return the facts of a model's class; they are computed once."""
        kind = type(model)
        if kind not in cls.known:
            cls.known[kind] = cls._find(model)
        return cls.known[kind]

    @classmethod
    def _find(cls, model: Any) -> ClassFacts:
        from bokeh.core.property.singletons import Undefined
        from bokeh.core.property.wrappers import PropertyValueContainer

        plain, parts, required, holders = {}, [], [], []
        may_hold = model.properties_with_refs()
        for name in model.properties(_with_props=True):
            descriptor = model.lookup(name)
            default = descriptor.class_default(type(model))
            if name in may_hold:
                is_empty = default is None or (isinstance(default, Sized) and len(default) == 0)
                holders.append((name, not is_empty and type(default) not in PLAIN))
            if default is Undefined:
                required.append(name)
            elif descriptor.has_unstable_default(model):
                if not isinstance(default, PropertyValueContainer):
                    parts.append(descriptor)
            elif type(default) in PLAIN:
                plain[name] = default
        return cls(plain, tuple(parts), frozenset(required), tuple(holders))


def find_parts_quickly() -> None:
    """Let the traversal of a page's models, at each structural change, skip defaults."""
    from bokeh.core.has_props import HasProps
    from bokeh.model import Model, util
    from bokeh.util.dataclasses import entries

    plain = frozenset(PLAIN)

    def look(value, queue):
        kind = type(value)
        if kind in plain:
            return
        if issubclass(kind, (list, tuple)):
            for item in value:
                look(item, queue)
        elif issubclass(kind, dict):
            for item in value.items():
                look(item, queue)
        elif issubclass(kind, Model):
            queue(value)
        elif issubclass(kind, HasProps):
            look_below(value, queue)
        elif hasattr(kind, "__dataclass_fields__"):  # a field of a glyph, with its colours
            for _, item in entries(value):
                look(item, queue)

    def look_below(parent, queue):
        own, made = parent._property_values, parent._unstable_default_values
        themed = parent.themed_values() or ()
        for name, holds in ClassFacts.of(parent).holders:
            if name in own:
                look(own[name], queue)
            elif holds or name in made or name in themed:
                look(getattr(parent, name), queue)

    def collect_filtered_models(discard, *input_values):
        collected: dict[str, Any] = {}
        waiting: deque[Any] = deque()

        def queue(model):
            if model._id not in collected and not (discard is not None and discard(model)):
                waiting.append(model)

        look(input_values, queue)
        while waiting:
            model = waiting.popleft()
            if model._id not in collected:
                collected[model._id] = model
                look_below(model, queue)
        return list(collected.values())

    util.collect_filtered_models  # noqa: B018
    util.collect_filtered_models = collect_filtered_models


def describe_classes_once() -> None:
    """Let each data model class be described once, rather than in each document that is sent.

    Classes whose defaults hold models or bytes are excluded, because those are per document.
    """
    from bokeh.core.has_props import MetaHasProps, is_DataModel
    from bokeh.core.serialization import Serializer

    describe = Serializer._encoders[MetaHasProps]
    known: dict[type, tuple[Any, Any]] = {}

    def describe_once(cls, serializer):
        if not is_DataModel(cls) or any(map(is_DataModel, cls.__bases__)):
            return describe(cls, serializer)
        if cls in known:
            ref, found = known[cls]
            serializer.add_ref(cls, ref)
            return found
        before = serializer._references.keys() | {id(cls), *map(id, cls.__bases__)}
        n_bytes = len(serializer._buffers)
        found = describe(cls, serializer)
        has_parts = not serializer._references.keys() <= before
        has_bytes = len(serializer._buffers) > n_bytes or not serializer._deferred
        if not (has_parts or has_bytes):
            known[cls] = serializer.get_ref(cls), found
        return found

    Serializer._encoders[MetaHasProps] = describe_once


class Synced:
    """The models that the browser of a page has, with lookup instead of a full list."""

    def __init__(self, manager: Any) -> None:
        self._models, self._new = manager._models, manager._new_models

    def __contains__(self, model: Any) -> bool:
        return self._models.get(model._id) is model and model not in self._new


@cache
def look_references_up() -> None:
    """Let a message look up the models that it references; idempotent.

    Bokeh otherwise collects all models of a tab, some thousand, which dominates the time per
    message.
    """
    from bokeh.core.serialization import Deserializer, Serializer
    from bokeh.document import Document
    from bokeh.document.models import DocumentModelManager
    from bokeh.model import Model

    begin, find, receive = Serializer.__init__, Serializer.get_ref, Deserializer.__init__
    apply, applied = Document.apply_json_patch, threading.local()

    def init(self, *, references=(), **options):
        self._synced = references if isinstance(references, Synced) else ()
        begin(self, references=() if self._synced else references, **options)

    def get_ref(self, obj):
        ref = find(self, obj)
        if ref is None and isinstance(obj, Model) and obj in self._synced:
            return obj.ref
        return ref

    def apply_json_patch(self, patch_json, **options):
        applied.models = self.models._models  # for the message deserialiser, created at once
        apply(self, patch_json, **options)

    def init_received(self, references=None, **options):
        receive(self, **options)
        models = vars(applied).pop("models", None)
        if models is None or len(models) != len(references or ()):
            models = {model._id: model for model in references or ()}
        self._references = ChainMap({}, models)

    Document.apply_json_patch = apply_json_patch
    Deserializer.__init__ = init_received
    Serializer.__init__, Serializer.get_ref = init, get_ref
    DocumentModelManager.synced_references = property(Synced)


def set_what_is_named() -> None:
    """Let ``param.update`` read only the parameters that it sets.

    Param reads all parameters of an object to return the previous values of those that it sets.
    Panel makes all of them writable while it applies changes from a browser; most already are.
    """
    from panel import reactive
    from param.parameterized import Parameters, Undefined

    update = Parameters._update
    if not {"values", "_BATCH_WATCH", "_batch_call_watchers"} <= {*update.__code__.co_names}:
        raise AttributeError("parameters are set in another way")

    def update_named(self_, arg=Undefined, /, **named):
        if arg is not Undefined:
            named = {**dict(arg), **named}
        known = self_.objects("existing")
        if any(name not in known or hasattr(known[name], "_autotrigger_value") for name in named):
            return update(self_, **named)
        before = {name: self_.get_value_generator(name, known) for name in named}
        is_batch, self_._BATCH_WATCH = self_._BATCH_WATCH, True
        try:
            for name, value in named.items():
                setattr(self_.self_or_cls, name, value)
        except Exception:
            self_._BATCH_WATCH = False
            raise
        self_._BATCH_WATCH = is_batch
        if not is_batch:
            self_._batch_call_watchers()
        return before

    @contextmanager
    def edit_readonly(parameterized: Any) -> Iterator[None]:
        """Make read-only parameters writable within the context."""
        get = object.__getattribute__
        locked = [
            (each, each.readonly, each.constant)
            for each in parameterized.param.objects("existing").values()
            if get(each, "readonly") is not False or get(each, "constant") is not False
        ]
        for each, _, _ in locked:
            each.readonly = each.constant = False
        try:
            yield
        finally:
            for each, readonly, constant in locked:
                each.readonly, each.constant = readonly, constant

    reactive.edit_readonly  # noqa: B018
    Parameters._update, reactive.edit_readonly = update_named, edit_readonly


def share_watchers() -> None:
    """Let parameters of an object with the same watchers share one list of watchers.

    These lists and the dicts around them are a third of the objects of a tab, and the garbage
    collector visits all of them. A list in use is never modified, but replaced.
    """
    from param.parameterized import Parameters

    register = Parameters._register_watcher

    def change(action: str, watched: dict[str, list[Any]] | None, watcher: Any) -> dict[str, Any]:
        found = list(watched["value"]) if watched else []
        if action == "append" or watcher in found:
            getattr(found, action)(watcher)
        return {"value": found}

    def register_for_all(self_, action, watcher, what="value"):
        names, private = watcher.parameter_names, getattr(self_.self, "_param__private", None)
        known = self_.cls.param
        is_usual = private is not None and private.initialized and what == "value"
        if not is_usual or any(name not in known for name in names):
            register(self_, action, watcher, what)
            return
        watchers = private.watchers
        changed: dict[int, Any] = {}
        for name in names:
            watched = watchers.get(name)
            if id(watched) not in changed:
                # Keep the previous list alive, so that its id is not reused.
                changed[id(watched)] = change(action, watched, watcher), watched
            watchers[name] = changed[id(watched)][0]

    Parameters._register_watcher = register_for_all
