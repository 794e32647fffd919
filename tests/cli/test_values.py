"""What all commands do with numbers and with ``-``, for each of their options."""

import math
from dataclasses import fields
from pathlib import Path

import pytest
import typer

from genoviz.cli.commands import COMMANDS, Group
from genoviz.cli.genotypes.inputs import Filters
from genoviz.cli.main import OUTPUTS, main, make_program

MAX_INTEGER = 2**63 - 1
INPUTS = {
    *(
        "annotations assembly bed covar file genes genome genotypes graph guides index input_file "
        "inputs keep"
    ).split(),
    *("exclude extract layout matrix pedigree pheno queries remove scan sequences sets").split(),
    *("covariances populations reads start subjects table vcf weights").split(),
}


def walk(command, name=()):
    """Yield the words and the command of each command of the program."""
    for word in list(getattr(command, "commands", ())):
        inner = command.load(word) if hasattr(command, "load") else command.commands[word]
        yield from walk(inner, (*name, word))
    yield name, command


COMMAND = make_program()
PARAMETERS = [(words, param) for words, command in walk(COMMAND) for param in command.params]


def kind_of(param):
    """Return the type of a parameter's values, whatever version of the library names it."""
    descriptor = getattr(param, "type_descriptor", None)
    return descriptor.annotation if descriptor else None


NUMBERS = [
    pytest.param(words, param, id=f"{'-'.join(words)}{max(param.opts, key=len)}")
    for words, param in PARAMETERS
    if kind_of(param) in (int, float)
]


def table_of(commands, name=()):
    """Yield the words of each command of the table, and what lists say of it."""
    for word, late in commands.items():
        if isinstance(late, Group):
            yield from table_of(late.commands, (*name, word))
        yield (*name, word), late.summary if isinstance(late, Group) else late[1]


def test_lists_say_of_a_command_what_its_help_begins_with():
    begins = {words: command.help.split("\n\n")[0] for words, command in walk(COMMAND)}
    said = dict(table_of(COMMANDS))
    assert len(said) == len(begins) - 2  # the program, and what `samples` has
    assert {words: begins[words] for words in said} == said


def test_all_commands_that_analyse_genotypes_have_the_same_filters():
    names = {field.name for field in fields(Filters)}
    having = {
        words[-1]
        for words, command in walk(COMMAND)
        if names <= {param.name for param in command.params}
    }
    of_variants = {"finemap", "ld", "prune", "clump", "king", "score", "convert"}
    of_traits = {"gwas", "sets", "blup", "multiblup", "reml"}
    assert having == {"freq", "grm", "pca"} | of_traits | of_variants


def test_there_are_numbers_everywhere():
    assert len(NUMBERS) > 60
    assert {words[0] for words, *_ in (number.values for number in NUMBERS)} > {"layout", "geno"}


def test_every_number_has_bounds_that_64_bits_hold():
    for words, param in (number.values for number in NUMBERS):
        which = f"{words} {param.opts}"
        assert param.min is not None, f"{which} has no smallest value"
        assert param.max is not None, f"{which} has no largest value"
        assert math.isfinite(param.min), which
        assert math.isfinite(param.max), which
        if kind_of(param) is int:
            assert -MAX_INTEGER <= param.min <= param.max <= MAX_INTEGER, which
        if param.default is not None:
            assert param.min <= param.default <= param.max, which


OUT_OF_BOUNDS = [str(10**30), str(-(10**30)), "9" * 5000, "nan", "inf", "-inf"]


@pytest.mark.parametrize(("words", "param"), NUMBERS)
def test_a_number_out_of_bounds_is_refused(words, param):
    """The library's own way to a command, without the box around its sentence, which takes long."""
    command = COMMAND
    for word in words:
        command = command.commands[word]
    option = max(param.opts, key=len)
    for text in OUT_OF_BOUNDS:
        with pytest.raises(typer.BadParameter) as refused:
            command.main([option, text], standalone_mode=False)
        assert refused.value.exit_code == 2
        assert option in refused.value.param.opts
        assert len(refused.value.message.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("bwt", "spectrum", "-k", "9" * 20),
        ("offtarget", "-m", str(10**30)),
        ("layout", "--updates-per-step", "nan"),
        ("geno", "grm", "--at-least", "inf"),
        ("stress", "--seed", str(-(10**30))),
    ],
)
def test_the_program_says_so_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    captured = capsys.readouterr()
    assert end.value.code == 2
    assert captured.out == ""
    assert captured.err.count("Invalid value for") == 1
    assert arguments[-2] in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("count a.bed b.bed --graph g.gfa --no-map-contigs", "--no-map-contigs"),
        ("count a.bed --graph g.gfa --same-strand", "--same-strand"),
        ("count a.bed --graph g.gfa --zero-length strict", "--zero-length"),
        ("depth g.gfa --path x --strand +", "--strand"),
        ("depth g.gfa --path x --no-split -F 0", "--no-split"),
        ("depth a.bed --once", "--once"),
        ("stress g.gfa g.lay --by-path --weighting pairs", "--weighting"),
        ("stress g.gfa g.lay --worst 3 --samples 9", "--samples"),
        ("draw g.gfa g.lay -o x.png --column a", "--column"),
        ("draw g.gfa g.lay -o x.png --no-labels", "--no-labels"),
        ("extract g.gfa -o x.gfa --inverse --context-bp 9", "--context-bp"),
        ("bwt count g.gfa ACG --by sample --per-path", "--per-path"),
        ("bwt spectrum g.fa --every-k 5 -k 3", "-k"),
        ("geno grm g.bed -o g.npy --at-least 0.1", "--at-least"),
        ("geno gwas g.bed --leave-out none", "--leave-out"),
        ("geno gwas g.bed --model mixed --tests exact --refine-below 0.1", "--refine-below"),
        ("geno gwas g.bed --model mixed --hard-calls", "--hard-calls"),
        ("geno gwas g.bed --model mixed-logistic --hard-calls", "--hard-calls"),
        ("geno gwas g.bed --model mixed --xchr-model 1", "--xchr-model"),
        ("geno sets g.bed s.tsv --tests exact", "--tests"),
        ("geno sets g.bed s.tsv --backend cuda", "--backend"),
        ("geno reml g.bed --traces exact --probes 5", "--probes"),
        ("geno blup g.bed --repeats 3", "--repeats"),
        ("geno blup g.bed --polygenic-weight 0.3", "--gamma and --polygenic-weight"),
        ("geno multiblup g.bed --with b --covariances c.tsv --polygenic-weight 0.3", "--poly"),
        ("geno simulate -n 9 -m 9 -o x.bed --fst 0.2", "--fst"),
    ],
)
def test_an_option_without_effect_is_refused(line, flag, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(line.split())
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert exit_.value.code == 2, said
    assert f"Invalid value: {flag}" in said
    assert "no effect" in said


def test_every_file_is_known_to_be_read_or_written():
    """Else ``-`` would mean standard input where it is to mean standard output."""
    for words, param in PARAMETERS:
        if kind_of(param) is Path and words != ("serve",):
            is_known = param.name in OUTPUTS or param.name in INPUTS
            assert is_known, f"{' '.join(words)} {param.name}: add it to OUTPUTS, or to INPUTS here"
