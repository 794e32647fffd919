"""Fast looks at the source code of this project."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def iter_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements below a node, and what groups them, such as handlers of errors.

    A tenth of what `ast.walk` visits, for those who look for no expressions.
    """
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        below = getattr(node, field, ())
        for each in below if isinstance(below, list) else ():
            yield each
            yield from iter_statements(each)
