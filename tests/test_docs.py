"""What the documents say is true: links lead somewhere, examples run, citations are known."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import re

import pytest

import genoviz
from genoviz.cli import main
from tests.conftest import ROOT

DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("[!.]*/*.md")]
SOURCES = [
    path
    for folder in ("genoviz", "app", "benchmarks", "data_samples", "notebooks")
    for suffix in ("py", "cu", "md", "ipynb")
    for path in (ROOT / folder).rglob(f"*.{suffix}")
]
CITATION = re.compile(r"10\.\d{4,}/[\w./()-]*\w|arXiv:\d{4}\.\d{4,}\d")


def short(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=short)
def test_links_lead_somewhere(document):
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|(?:src|href)=\"([^\"#]+)\"", text)
    local = [a or b for a, b in targets if not re.match(r"[a-z]+:", a or b)]
    assert [target for target in local if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=short)
def test_files_that_a_document_names_exist(document):
    if document.name in ("CHANGELOG.md", "mutants.md"):  # of the past
        return
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"`((?:genoviz|app|tests|benchmarks|docs|notebooks)/[\w/.-]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_citation_is_in_the_list_of_references():
    known = {text.lower() for text in CITATION.findall((ROOT / "docs/references.md").read_text())}
    assert "10.1093/bioinformatics/btae363" in known
    unknown = {
        f"{short(path)}: {citation}"
        for path in [*SOURCES, ROOT / "README.md"]
        for citation in CITATION.findall(path.read_text(encoding="utf-8"))
        if citation.lower() not in known
    }
    assert sorted(unknown) == []


WITH_EXAMPLES = [
    re.sub(r"^app\b", "genoviz_app", ".".join(path.relative_to(ROOT).with_suffix("").parts))
    for package in ("genoviz", "app")
    for path in sorted((ROOT / package).rglob("*.py"))
    if re.search(r">>> (?!.*SKIP)", path.read_text(encoding="utf-8"))
]


class ExampleFinder(doctest.DocTestFinder):
    """Finds the examples of decorated functions too."""

    def _from_module(self, module, found):
        return super()._from_module(module, inspect.unwrap(found))


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for examples in ExampleFinder(exclude_empty=True).find(importlib.import_module(module)):
        runner.run(examples)
    assert runner.tries > 0
    assert runner.failures == 0


def test_defaults_in_the_layouts_document_are_those_of_the_code():
    text = (ROOT / "docs/layout.md").read_text(encoding="utf-8")
    shown = {}
    for names, defaults in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+) \|", text, re.MULTILINE):
        shown |= dict(zip(re.findall(r"\w+", names), defaults.split(", "), strict=False))
    options = {field.name: field.default for field in dataclasses.fields(genoviz.LayoutOptions)}
    assert options.keys() - {"n_threads"} <= shown.keys()
    for name, default in options.items():
        if isinstance(default, bool):
            assert shown[name] == str(default).lower(), name
        elif isinstance(default, int | float):
            assert shown[name] == f"{default:g}", name


def test_tests_that_the_features_name_exist():
    text = (ROOT / "docs/features.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if re.match(r"\| (?!feature|---|\*\*)", line)]
    named = re.findall(r"`(tests/[\w/.]+)::(\w+)`", text)
    assert len(named) == len(rows) > 50, "each row names one test"
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / file).exists() or f"def {name}(" not in (ROOT / file).read_text()
    ]
    assert missing == []


def test_table_of_empty_intervals_is_what_is_counted():
    text = (ROOT / "docs/intervals.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+)-(\d+) \| (\d+)-(\d+) \| (\d) \| (\d) \| (\d) \|", text, re.M)
    assert len(rows) == 8
    for row in rows:
        a, b, c, d, *expected = map(int, row)
        query, other = (
            genoviz.Intervals.from_columns(["c"], [x], [y]) for x, y in ((a, b), (c, d))
        )
        found = [
            genoviz.total_overlaps(query, other, zero_length=rule, backend="cpu")
            for rule in ("bedtools", "strict", "interior")
        ]
        assert found == expected, row


def test_options_in_the_document_on_intervals_exist():
    text = (ROOT / "docs/intervals.md").read_text(encoding="utf-8")
    program = main.make_program()
    known = {
        command: {name for option in program.load(command).params for name in option.opts}
        | {name for option in program.load(command).params for name in option.secondary_opts}
        for command in ("count", "coverage", "depth")
    }
    shown = re.findall(r"^\| `(count|coverage|depth) ([^`]*)`", text, re.MULTILINE)
    assert len(shown) >= 10
    for command, words in shown:
        options = {word for word in words.split() if word.startswith("-")}
        assert options <= known[command], (command, options - known[command])


def blocks_of(name, language):
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path))
    (block,) = blocks_of("README.md", "python")
    exec(compile(block, "README.md", "exec"), {})
    assert "PathStress" in capsys.readouterr().out
    assert (tmp_path / "graph.lay").exists()


def test_python_of_the_guide_makes_a_widget_of_the_graph():
    pytest.importorskip("anywidget", reason="needs genoviz[notebook]")
    (block,) = blocks_of("docs/explore.md", "python")
    found = {}
    exec(compile(block, "explore.md", "exec"), found)
    assert found["widget"].graph.n_nodes == 3_500
    assert found["widget"].colour_by == "depth"
    found["widget"].close()
