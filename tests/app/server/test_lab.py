"""What a lab writes down about its server is read as a whole, or refused in a sentence."""

from __future__ import annotations

import re
import tomllib

import pytest

from genoviz.errors import FileFormatError, GenovizError, ParameterError
from genoviz_app.server import people
from genoviz_app.server.lab import Lab
from genoviz_app.server.lab_file import passwords_of, read_lab
from genoviz_app.server.passwords import add_person, hash_password, is_password, read_passwords
from genoviz_app.server.people import People, safe_place
from genoviz_app.server.settings import NOWHERE, ServerSettings
from tests.conftest import ROOT

PASSWORD = "correct horse"


@pytest.fixture
def folder(tmp_path):
    for name in ("graphs", "plants", "mice"):
        (tmp_path / name).mkdir()
    (tmp_path / "graphs" / "a.gfa").write_text("H\tVN:Z:1.0\n")
    (tmp_path / "oauth.key").write_text("hidden\n")
    add_person(tmp_path / "people.txt", "ada", PASSWORD)
    return tmp_path


def lab_of(folder, text):
    path = folder / "lab.toml"
    path.write_text(text)
    return read_lab(path)


def test_the_example_of_the_documents_is_read(folder):
    text = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1]
    tomllib.loads(example)
    (folder / "graphs" / "chr6.gfa.gz").write_bytes(b"")
    lab = lab_of(folder, example.replace('"/data/', f'"{folder}/'))
    assert (lab.address, lab.port, lab.prefix, lab.is_https) == (
        "127.0.0.1",
        5006,
        "/genoviz",
        True,
    )
    assert lab.hosts == ("lab.example.org",)
    assert lab.passwords == folder / "people.txt"
    assert lab.groups == ((frozenset({"ada", "grace"}), (folder / "plants",)),)
    assert lab.folders == (folder / "graphs",)
    assert len(lab.secret) == 64
    assert lab.kept_minutes == 10


def test_the_workers_of_a_lab_are_those_of_its_scheduler(folder):
    lab = lab_of(folder, '[server]\nscheduler = "tcp://head:8786"\n')
    assert lab.scheduler == "tcp://head:8786"
    with pytest.raises(FileFormatError, match="scheduler is 7; a text in quotes is needed"):
        lab_of(folder, "[server]\nscheduler = 7\n")


def test_an_empty_file_says_nothing(folder):
    assert lab_of(folder, "") == Lab()


WRONG = [
    ("x = ", "is not TOML"),
    ("[sever]", "has an unknown section [sever]; is 'server' meant?"),
    ("[server]\nadress = 'x'", "[server] has an unknown key 'adress'; is 'address' meant?"),
    ("[files]\nzzz = 1", "[files] has an unknown key 'zzz'; it may have offer, folders"),
    ("port = 1", "has an unknown section [port]"),
    ("server = 1", "[server] is not a section"),
    ("groups = 1", "[groups] is not a section"),
    ("[groups]\na = 1", "[groups.a] is not a section"),
    ("[server]\nport = '5006'", "[server] port is '5006'; a whole number from 0 to 65535"),
    ("[server]\nport = 65536", "[server] port is 65536; a whole number"),
    ("[server]\nport = true", "[server] port is True; a whole number"),
    ("[server]\nport = 1.5", "[server] port is 1.5; a whole number"),
    ("[server]\nhttps = 'yes'", "[server] https is 'yes'; true or false is needed"),
    ("[server]\naddress = ''", "[server] address is ''; a text in quotes is needed"),
    ("[server]\nhosts = 'lab'", "[server] hosts is 'lab'; a list of texts"),
    ("[server]\nhosts = ['a b']", "[server] 'a b' is not the name of a host"),
    ("[server]\norigins = ['lab']", "[server] 'lab' is not the origin of a page"),
    ("[server]\nprefix = 'x'", "[server] prefix is 'x'; a text as \"/genoviz\" is needed"),
    ("[server]\nprefix = '/a/../b'", "[server] prefix is '/a/../b'"),
    ("[server]\nprefix = '/a(.*)'", "[server] prefix is '/a(.*)'"),
    ("[server]\nprefix = '/a//b'", "[server] prefix is '/a//b'"),
    ("[server]\naddress = '0.0.0.0'", "[files] folders is missing"),
    ("[files]\nfolders = ['nowhere']", "[files] folders: there is no folder"),
    ("[files]\nfolders = ['people.txt']", "[files] folders: there is no folder"),
    ("[files]\noffer = ['b.gfa']", "[files] offer: there is no file"),
    ("[people]\npasswords = 'nobody.txt'", "[people] passwords: there is no file"),
    ("[people]\npasswords = 'people.txt'", "[files] folders is missing"),
    ("[people]\nsecret_file = 'oauth.key'", "[people] secret_file oauth.key has fewer than 32"),
    ("[groups.a]\npeople = ['ada']", "[groups.a] needs folders"),
    ("[groups.a]\npeople = ['ada']\nfolders = ['mice']", "nobody who logs in"),
    ("[oauth]\nprovider = 'github'", "[oauth] needs key"),
    ("[limits]\nupload_megabytes = -1", "[limits] upload_megabytes is -1"),
    ("[limits]\nmemory_gigabytes = 0", "[limits] memory_gigabytes is 0"),
    ("[limits]\nkept_minutes = -1", "[limits] kept_minutes is -1"),
    (
        "[oauth]\nprovider = 'x'\nkey = 'k'\nsecret_file = 'oauth.key'\nredirect = 'r'\nallow = []",
        "[oauth] provider is 'x'; one of",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG, ids=[text for text, _ in WRONG])
def test_what_is_wrong_is_said_in_a_sentence(folder, text, sentence):
    with pytest.raises(FileFormatError) as caught:
        lab_of(folder, text)
    assert str(caught.value).startswith("lab.toml: ")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_lab_that_is_not_there_is_said(tmp_path):
    with pytest.raises(GenovizError, match=r"lab.toml cannot be read: No such file"):
        read_lab(tmp_path / "lab.toml")


def test_the_secret_stays_from_one_start_to_the_next(folder):
    text = "[people]\nsecret_file = 'cookies.key'"
    first = lab_of(folder, text).secret
    assert lab_of(folder, text).secret == first
    assert (folder / "cookies.key").stat().st_mode & 0o077 == 0
    assert Lab(passwords=folder / "people.txt").people.secret != ""


def test_groups_read_their_own_folders_only(folder):
    settings = ServerSettings(
        folders=(folder / "graphs",),
        groups=(
            (frozenset({"ada"}), (folder / "plants",)),
            (frozenset({"eve"}), (folder / "mice",)),
        ),
        is_limited=True,
    )
    assert settings.may_read("ada") == (folder / "graphs", folder / "plants")
    assert settings.may_read("eve") == (folder / "graphs", folder / "mice")
    assert settings.may_read("") == (folder / "graphs",)
    assert ServerSettings(is_limited=True).may_read("ada") == (NOWHERE,)
    assert ServerSettings().may_read("") == ()


def test_a_password_is_kept_as_a_hash_with_a_salt_of_its_own(folder):
    path = folder / "people.txt"
    add_person(path, "eve", PASSWORD)
    kept = read_passwords(path)
    assert list(kept) == ["ada", "eve"]
    assert kept["ada"] != kept["eve"]
    assert PASSWORD not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    assert is_password(PASSWORD, kept["ada"])
    assert not is_password(PASSWORD + "x", kept["ada"])
    assert not is_password("", "")
    assert not is_password(hash_password("x")[8:], "")


def test_a_password_that_is_kept_is_what_scrypt_makes_of_it():
    import base64
    import hashlib

    key = hashlib.scrypt(b"pleaseletmein", salt=b"SodiumChloride", n=2**15, r=8, p=1,
                         maxmem=2**26, dklen=32)  # fmt: skip
    salt = base64.b64encode(b"SodiumChloride").decode()
    assert is_password("pleaseletmein", f"$scrypt${salt}${base64.b64encode(key).decode()}")


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\nb", "<b>", "a" * 101])
def test_what_cannot_be_a_name_is_refused(tmp_path, name):
    with pytest.raises(ParameterError, match="cannot be a person's name"):
        add_person(tmp_path / "people.txt", name, PASSWORD)


def test_a_short_password_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="at least 8 letters"):
        add_person(tmp_path / "people.txt", "ada", "1234567")


def test_a_line_that_is_no_hash_is_told_without_it(tmp_path):
    path = tmp_path / "people.txt"
    path.write_text("# people\nada:secret123\n")
    with pytest.raises(FileFormatError, match="line 2: is not a name and the hash") as caught:
        read_passwords(path)
    assert "secret123" not in str(caught.value)


def test_where_passwords_are_kept_is_read_before_they_are_there(tmp_path):
    path = tmp_path / "lab.toml"
    path.write_text("[people]\npasswords = 'people.txt'")
    assert passwords_of(path) == tmp_path / "people.txt"
    path.write_text("[people]")
    with pytest.raises(FileFormatError, match="needs a line passwords"):
        passwords_of(path)


def test_who_is_taken_from_the_list_is_out_at_once(folder):
    path = folder / "people.txt"
    listed = People("s", path)
    assert listed.is_listed("ada")
    path.write_text("# nobody\n")
    assert not listed.is_listed("ada")
    path.unlink()
    assert listed.hashes == {}


def test_after_five_wrong_passwords_a_person_waits(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(people.time, "monotonic", lambda: now[0])
    listed = People("s")
    for _ in range(5):
        assert not listed.must_wait("ada")
        listed.note("ada", is_right=False)
    assert listed.must_wait("ada")
    assert not listed.must_wait("eve")
    now[0] += people.WAIT_SECONDS + 1
    assert not listed.must_wait("ada")
    listed.note("ada", is_right=True)
    assert not listed.must_wait("ada")


ELSEWHERE = [
    *("//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "", "x"),
    *("/\n/evil.example", "/\t/evil.example", "javascript:alert(1)", " /", "/ x"),
    "///evil.example",
]  # fmt: skip


@pytest.mark.parametrize("place", ELSEWHERE)
def test_nobody_is_sent_elsewhere_after_logging_in(place):
    assert safe_place(place) == "/"
    assert safe_place(place, "/lab") == "/lab/"


def test_a_page_of_the_server_is_gone_back_to():
    assert safe_place("/?page=kmers&file=a.gfa") == "/?page=kmers&file=a.gfa"
    assert safe_place("/lab/?page=kmers", "/lab") == "/lab/?page=kmers"
    assert safe_place("/other/", "/lab") == "/lab/"


def test_a_provider_of_oauth_sets_cookies_as_the_login_page_does(folder):
    pytest.importorskip("panel")
    from genoviz_app.server.people import LOGIN, ErrorPage, SafeCookies

    lab = lab_of(
        folder,
        "[files]\nfolders = ['graphs']\n[oauth]\nprovider = 'github'\nkey = 'k'\n"
        "secret_file = 'oauth.key'\nredirect = 'https://lab/login'\nallow = ['ada']\n",
    )
    assert lab.oauth.secret == "hidden"
    assert lab.people.is_listed("ada")
    assert not lab.people.is_listed("mallory")
    handler = lab.people.provider().login_handler
    assert issubclass(handler, SafeCookies)
    assert handler.set_cookie is SafeCookies.set_cookie
    assert handler._login_endpoint == LOGIN
    assert "<script>" not in ErrorPage().render(error_msg="<script>")
