"""What is the same for all models of a class, found once for each class."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any, ClassVar

PLAIN = (type(None), bool, int, float, str)


@dataclass(frozen=True)
class ClassFacts:
    """What is the same for all models of a class.

    Attributes
    ----------
    plain
        Defaults that are numbers, texts or truth values.
    parts
        Descriptors of what each model has a new one of: a model, or a value of a function. Empty
        lists and dicts are none of them, for a model gets these when it is asked for them.
    required
        Names of what has no default.
    holders
        Names of what may hold models, each with whether it may also where a model has no value of
        its own.
    """

    plain: dict[str, Any]
    parts: tuple[Any, ...]
    required: frozenset[str]
    holders: tuple[tuple[str, bool], ...]

    known: ClassVar[dict[type, ClassFacts]] = {}

    @classmethod
    def of(cls, model: Any) -> ClassFacts:
        """Return the facts of a model's class, found once."""
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
