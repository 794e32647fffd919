"""Fixture that runs commands in tests."""

from __future__ import annotations

import pytest

from genoviz.cli.main import main


@pytest.fixture
def run(request, capfd, tmp_path, monkeypatch):
    """Run a command in its own folder; returns exit code, standard output and standard error.

    A module's ``COMMAND`` is prepended to the arguments of each call.
    """
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    command = getattr(request.module, "COMMAND", ())

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([*command, *map(str, arguments)])
        captured = capfd.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run
