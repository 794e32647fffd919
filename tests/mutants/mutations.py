"""Mutations of source code: found in its syntax tree, and applied to its text."""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
OPPOSITES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil"}
OPPOSITES |= {right: left for left, right in OPPOSITES.items()}
SIDES = {"left": "right", "right": "left"}

# Sizes, colours and texts are judged by eye, not by tests.
LOOKS = re.compile(
    r"(css|style|sizing|width|height|margin|padding|colou?r|font|alpha|opacity|icon|label|help"
    r"|title|placeholder|description|metavar|panel|variant|elevation|tooltip|text_|sx$|name$"
    r"|stacklevel)"
)
LOOKS_CONSTANT = re.compile(r"(WIDTH|HEIGHT|MARGIN|PADDING|COLOU?R|FONT|ALPHA|PIXELS|CSS|STYLE)")
# ``strict`` of zip is an assertion, and ``copy=False`` of astype saves memory; neither affects
# results.
NO_ANSWER = {("zip", "strict"), ("astype", "copy")}
# Texts of logs and progress bars, and hints to the processor.
UNSEEN = re.compile(r"^((logging|logger|_logger|log)\.|bar\.update\(|prefetch\()")


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes ``start`` to ``end`` of the file at ``path`` become ``text``."""

    path: str
    function: str
    kind: str
    before: str
    after: str
    line: int
    start: int
    end: int
    text: str
    nth: int
    digest: str

    @property
    def key(self) -> str:
        """Return a key that is stable as long as the changed words stay in their function."""
        words = (self.path, self.function, self.kind, self.before, self.after, str(self.nth))
        return sha256("\0".join(words).encode()).hexdigest()[:12]

    def applied_to(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def find_mutants(path: str, source: bytes) -> list[Mutant]:
    """Return all mutants of a file, in line order."""
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return finder.mutants


class _Finder(ast.NodeVisitor):
    """Visits code that computes, and skips messages, styles and types."""

    def __init__(self, path: str, source: bytes):
        self.path, self.source = path, source
        self.line_starts = [0]
        for line in source.splitlines(keepends=True):
            self.line_starts.append(self.line_starts[-1] + len(line))
        self.names: list[str] = []
        self.digests = [""]
        self.in_njit = False
        self.seen: Counter = Counter()
        self.mutants: list[Mutant] = []

    # What is found

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.line_starts[node.lineno - 1] + node.col_offset,
            self.line_starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _add(self, kind: str, node: ast.AST, text: str) -> None:
        start, end = self._span(node)
        before, function = ast.unparse(node), ".".join(self.names)
        after = text if text == "pass" or isinstance(node, ast.stmt) else _without_brackets(text)
        self.seen[kind, function, before, after] += 1
        nth = self.seen[kind, function, before, after]
        span = (node.lineno, start, end)
        self.mutants.append(
            Mutant(self.path, function, kind, before, after, *span, text, nth, self.digests[-1])
        )

    def _change(self, kind: str, node: ast.expr, change: Callable[[ast.AST], None]) -> None:
        other = copy.deepcopy(node)
        change(other)
        self._add(kind, node, f"({ast.unparse(other)})")

    # Where it is looked for

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = self.in_njit
        is_njit = any("njit" in ast.unparse(decorator) for decorator in node.decorator_list)
        self.in_njit = outer or is_njit
        self._enter(node, [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body])
        self.in_njit = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._enter(node, node.body)

    def _enter(self, node: ast.FunctionDef | ast.ClassDef, children: list[ast.AST]) -> None:
        self.names.append(node.name)
        start, end = self._span(node)
        self.digests.append(sha256(self.source[start:end]).hexdigest()[:12])
        for child in children:
            self.visit(child)
        self.names.pop()
        self.digests.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value and not LOOKS_CONSTANT.search(ast.unparse(node.target)):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        target = ast.unparse(node.targets[0])
        if target == "__all__" or (not self.names and LOOKS_CONSTANT.search(target)):
            return
        if self.names and all(isinstance(t, (ast.Attribute, ast.Subscript)) for t in node.targets):
            self._add("statement deleted", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add("statement deleted", node, "pass")
        if other := ARITHMETIC.get(type(node.op)):
            changed = copy.deepcopy(node)
            changed.op = other()
            self._add("operator", node, ast.unparse(changed))
        self.visit(node.target)
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) or UNSEEN.match(ast.unparse(node)):
            return
        if isinstance(node.value, ast.Call) and self.names:
            self._add("statement deleted", node, "pass")
        self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        if self.names and node.exc is not None:
            self._add("statement deleted", node, "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add("statement deleted", node, "pass")

    visit_Break = visit_Continue

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        if not self.in_njit and not _is_constant(node.value, None):
            self._add("return value dropped", node, "return None")
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test).endswith("TYPE_CHECKING"):
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        if isinstance(test, (ast.Name, ast.Attribute, ast.Call, ast.NamedExpr)):
            self._add("condition negated", test, f"(not ({ast.unparse(test)}))")

    # What is changed in an expression

    def visit_Compare(self, node: ast.Compare) -> None:
        for i, operator in enumerate(node.ops):
            other = COMPARISONS[type(operator)]()
            self._change("comparison", node, lambda new, i=i, o=other: new.ops.__setitem__(i, o))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = ARITHMETIC.get(type(node.op))
        if other and not _joins_texts(node) and not _joins_types(node):
            self._change("operator", node, lambda new: setattr(new, "op", other()))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._change("and, or", node, lambda new: setattr(new, "op", other))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self._add("sign or not dropped", node, f"({ast.unparse(node.operand)})")
        self.visit(node.operand)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("constant", node, str(not node.value))
        elif isinstance(node.value, (int, float)) and node.value + 1 != node.value:
            self._add("constant", node, f"({node.value + 1!r})")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        for index in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if isinstance(index, ast.Slice):
                for bound in filter(None, (index.lower, index.upper)):
                    if not isinstance(bound, ast.Constant):
                        self._add("index shifted", bound, f"({ast.unparse(bound)} + 1)")
            elif self.in_njit and isinstance(index, (ast.Name, ast.BinOp)):
                self._add("index shifted", index, f"({ast.unparse(index)} + 1)")
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            word = getattr(key, "value", None)
            if not self.names and isinstance(word, str) and LOOKS.search(word):
                continue
            self.visit(value)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._add("condition dropped", condition, "True")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self._swap_opposite(node)
        self.visit(node.func)
        called = ast.unparse(node.func)
        for argument in node.args:
            self.visit(argument)
        for i, keyword in enumerate(node.keywords):
            name = keyword.arg
            if name is None or LOOKS.search(name) or (called.split(".")[-1], name) in NO_ANSWER:
                continue
            self._change("keyword dropped", node, lambda new, i=i: new.keywords.pop(i))
            if name == "side" and getattr(keyword.value, "value", None) in SIDES:
                self._add("opposite", keyword.value, repr(SIDES[keyword.value.value]))
            self.visit(keyword.value)

    def _swap_opposite(self, node: ast.Call) -> None:
        name = getattr(node.func, "id", getattr(node.func, "attr", None))
        if name not in OPPOSITES:
            return
        field = "id" if isinstance(node.func, ast.Name) else "attr"
        self._change("opposite", node, lambda new: setattr(new.func, field, OPPOSITES[name]))

    # Python knows positions inside f-strings only since 3.12, and their text is for people.
    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass


def _is_constant(node: ast.AST, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _joins_texts(node: ast.BinOp) -> bool:
    sides: Iterator[ast.AST] = iter((node.left, node.right))
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, (str, bytes)))
        or (isinstance(side, ast.BinOp) and _joins_texts(side))
        for side in sides
    )


def _joins_types(node: ast.BinOp) -> bool:
    """Distinguish ``int | None`` and similar types from numbers."""
    if not isinstance(node.op, ast.BitOr):
        return False
    words = re.findall(r"\w+", ast.unparse(node))
    return all((w[0].isupper() and not w.isupper()) or w in ("int", "str", "float") for w in words)


def _without_brackets(text: str) -> str:
    return text[1:-1] if text.startswith("(") else text
