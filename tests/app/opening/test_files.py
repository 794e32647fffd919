"""What may be opened on the server, and when a file is the one that was read before."""

from __future__ import annotations

import os

import pytest

from genoviz.errors import ParameterError
from genoviz_app.opening.files import FileCache, OpeningProgress, check_path


@pytest.fixture
def folders(tmp_path):
    for name in ("open", "secret", "open-too"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "g.gfa").write_text("S\t1\tA\n")
    return tmp_path.resolve()


@pytest.mark.parametrize(
    "name",
    ["secret/g.gfa", "open/../secret/g.gfa", "open/link.gfa", "open/way/g.gfa", "open-too/g.gfa"],
)
def test_no_link_and_no_dots_lead_out_of_the_folders(folders, name):
    (folders / "open" / "link.gfa").symlink_to(folders / "secret" / "g.gfa")
    (folders / "open" / "way").symlink_to(folders / "secret")
    assert (folders / name).is_file()
    with pytest.raises(ParameterError, match="where this server may read"):
        check_path(str(folders / name), (folders / "open",))


def test_a_link_and_dots_that_stay_inside_are_followed(folders):
    inside = folders / "open" / "g.gfa"
    (folders / "secret" / "back.gfa").symlink_to(inside)
    for name in ("open/g.gfa", "secret/../open/g.gfa", "secret/back.gfa"):
        assert check_path(str(folders / name), (folders / "open",)) == inside


class Content:
    """What was read; a plain list cannot be weakly referenced."""

    def __init__(self, text):
        self.text = text


def test_a_file_is_read_anew_when_its_time_or_its_size_changes(folders):
    path = folders / "open" / "g.gfa"
    cache = FileCache(
        lambda path: iter([OpeningProgress("", 1.0, Content(path.read_text()))]), n_kept=3
    )

    def read():
        *_, content = cache.iter_read(path)
        return content

    first, status = read(), path.stat()
    assert read() is first
    path.write_text("S\t1\tC\n")  # of the same size
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    second = read()
    assert second.text == "S\t1\tC\n"
    path.write_text("S\t1\tCC\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert read().text == "S\t1\tCC\n"
