"""``genoviz geno mixblup``: the mixed models of MiXBLUP's instruction files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import with_examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import write_table
from genoviz.cli.output_kinds import TableOption
from genoviz.cli.results import print_notes, show_progress


@with_examples("genoviz geno mixblup milk.mix -o solutions.tsv")
def mixblup(
    input_file: Annotated[
        Path,
        typer.Argument(
            metavar="INSTRUCTIONS",
            help="MiXBLUP instruction file; file names in it are relative to its folder.",
        ),
    ],
    output: TableOption = None,
) -> None:
    """Solve the mixed model of a MiXBLUP instruction file.

    Models can have several traits, missing observations, fixed and random classes, covariates,
    random regressions, maternal effects, pen mates and groups of unknown parents. An inverse
    relationship matrix (ERMFILE) can take the place of the pedigree; genotypes are not supported.
    Each row names trait, effect and level. For linearly dependent fixed effects, only differences
    of solutions are meaningful. If the solver does not converge, CONVERGED is no, and the exit
    status is 3.
    """
    import numpy as np

    from genoviz.analyses.genotypes.prediction.mixed_model import iter_solve_mixed_model
    from genoviz.io.genotypes.mixblup import read_mixblup

    with show_progress() as bar:
        bar.update("Reading", 0, None, "files")
        asked = read_mixblup(input_file)
        print_notes(*asked.notes)
        limit = {} if asked.max_iterations is None else {"max_iterations": asked.max_iterations}
        for last in iter_solve_mixed_model(asked.model, **limit):
            bar.update("Solving", len(last.residuals) - 1, None, "iterations", last.sentence)
    pairs = zip(last.effects.tolist(), last.levels.tolist(), strict=True)
    columns = {
        "#TRAIT": np.array(asked.traits)[last.traits],
        "EFFECT": np.array(asked.effects)[last.effects],
        "LEVEL": np.array([asked.levels[effect][level] for effect, level in pairs]),
        "SOLUTION": last.values,
        "CONVERGED": np.full(len(last.values), "yes" if last.is_converged else "no"),
    }
    write_table(columns, output)
    io.tell_end(last.sentence, is_converged=last.is_converged, remedy="!MAXIT sets where to stop")
