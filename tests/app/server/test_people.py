"""Behind a prefix and a login: who is let in, to which tabs, and what the server tells of it."""

from __future__ import annotations

import http.client
import json
import re
from urllib.parse import urlencode

import pytest

from genoviz_app.server.passwords import add_person
from genoviz_app.server.people import LOGIN_PAGE
from tests.app.conftest import GFA
from tests.app.server.test_doors import ask, open_socket
from tests.browser.conftest import served
from tests.waiting import PATIENCE, wait_until

PASSWORD = "correct horse"
LAB = """
[server]
port = 0
prefix = "/lab"
https = true
[files]
folders = ["."]
offer = ["a.gfa"]
[people]
passwords = "people.txt"
secret_file = "cookies.key"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    for name in ("ada", "eve", "zoe"):
        add_person(folder / "people.txt", name, PASSWORD)
    (folder / "a.gfa").write_text(GFA)
    (folder / "lab.toml").write_text(LAB)
    return folder


@pytest.fixture(scope="module")
def lab(folder):
    """The port of a lab's server, and the lines it writes."""
    arguments = ("-m", "genoviz", "serve", "--no-browser", "--lab", str(folder / "lab.toml"))
    with served(*arguments) as (url, lines):
        yield int(re.search(r":(\d+)/lab", url)[1]), lines


@pytest.fixture(scope="module")
def port(lab):
    return lab[0]


def log_in(port, name, password=PASSWORD, place="", headers=()):
    """Send name and password; return the answer."""
    connection = http.client.HTTPConnection("localhost", port, timeout=PATIENCE)
    body = urlencode({"name": name, "password": password})
    kind = {"Content-Type": "application/x-www-form-urlencoded", **dict(headers)}
    connection.request("POST", f"/lab/login?{urlencode({'next': place})}", body, kind)
    answer = connection.getresponse()
    answer.text = answer.read().decode()
    connection.close()
    return answer


def test_a_server_is_healthy_and_says_so_without_a_login(lab):
    port, _ = lab
    status, text = ask(port, "/lab/healthz")
    assert (status, json.loads(text)) == (200, {"status": "ok"})
    assert ask(port, "/lab/healthz", hosts=["evil.example"])[0] == 403


def test_the_address_without_its_last_slash_leads_to_the_login_page(port):
    for path in ("/lab", "/lab?page=kmers"):
        connection = http.client.HTTPConnection("localhost", port, timeout=PATIENCE)
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        home = answer.getheader("Location")
        assert (answer.status, home) == (302, path.replace("/lab", "/lab/"))
        assert ask(port, home)[0] == 302  # to the login page
    assert ask(port, "/lab", hosts=["evil.example"])[0] == 403


def numbers_of(port):
    parser = pytest.importorskip("prometheus_client.parser")
    status, text = ask(port, "/lab/metrics")
    assert status == 200
    families = parser.text_string_to_metric_families(text)
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_numbers_are_those_of_the_server(lab):
    port, _ = lab
    before = numbers_of(port)
    assert before["process_resident_memory_bytes",] > 10_000_000
    assert before["genoviz_jobs", "genoviz-kernels"] == 0
    wait_until(lambda: numbers_of(port)["genoviz_loop_lag_seconds_count",] > 2)
    assert ask(port, "/lab/", hosts=["evil.example"])[0] == 403
    after = numbers_of(port)
    name = "genoviz_events_total"
    assert after[name, "refused"] == before[name, "refused"] + 1
    assert after["genoviz_tabs",] >= 0
    assert before[name, "error"] == 0


def test_events_are_lines_of_json_that_say_who_and_not_what(lab, folder):
    port, lines = lab
    assert log_in(port, "ada", "wrong-password").status == 403
    assert log_in(port, "ada").status == 302
    ask(port, "/lab/", hosts=["evil.example"])

    def events():
        return [json.loads(line) for line in lines if line.startswith("{")]

    # Lines come when they are read.
    kinds = {"refused", "logged in", "wrong password"}
    wait_until(lambda: kinds <= {event["event"] for event in events()})
    found = {event["event"]: event for event in events()}
    assert found["logged in"]["person"] == found["wrong password"]["person"] == "ada"
    assert "evil.example" in found["refused"]["why"]
    assert all({"time", "event"} <= event.keys() for event in events())
    text = "".join(lines)
    assert PASSWORD not in text
    assert "wrong-password" not in text


@pytest.fixture(scope="module")
def cookies(port):
    """Headers of people who are logged in."""
    found = {}
    for name in ("ada", "eve"):
        answer = log_in(port, name)
        assert answer.status == 302
        found[name] = ("Cookie", answer.getheader("Set-Cookie").split(";")[0])
    return found


def test_a_cookie_is_for_this_server_and_not_for_scripts(port):
    answer = log_in(port, "ada", place="/lab/?page=kmers")
    assert answer.getheader("Location") == "/lab/?page=kmers"
    cookie = answer.getheader("Set-Cookie")
    for part in ("HttpOnly", "SameSite=Lax", "Secure", "Path=/lab/"):
        assert part in cookie.split("; ")


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ada", "wrong"),
        ("mallory", PASSWORD),
        ("", ""),
        ("ada", ""),
        ("zo\u00eb", "x"),
        ("<b>", "<b>"),
    ],
)
def test_a_wrong_password_and_an_unknown_name_are_told_alike(port, name, password):
    answer = log_in(port, name, password)
    assert answer.status == 403
    assert "Wrong name or password" in answer.text
    assert answer.getheader("Set-Cookie") is None
    assert "<b>" not in answer.text


def test_after_many_wrong_passwords_the_right_one_waits(port):
    for _ in range(5):
        assert log_in(port, "zoe", "wrong").status == 403
    answer = log_in(port, "zoe")
    assert (answer.status, "try again in 30 seconds" in answer.text) == (429, True)


def known_of(answer):
    """The header by which a browser is known again after a login."""
    (cookie,) = (
        value.split(";")[0]
        for name, value in answer.getheaders()
        if name == "Set-Cookie" and value.startswith("known=")
    )
    return "Cookie", cookie


def test_wrong_passwords_of_others_do_not_keep_a_person_out(port, folder):
    add_person(folder / "people.txt", "ida", PASSWORD)
    known, of_ada = known_of(log_in(port, "ida")), known_of(log_in(port, "ada"))
    forged = ("Cookie", known[1].replace("|", "|0", 1))
    for _ in range(5):
        assert log_in(port, "ida", "wrong").status == 403
    for headers in ([], [of_ada], [forged]):
        assert log_in(port, "ida", headers=headers).status == 429
    answer = log_in(port, "ida", headers=[known])
    assert answer.status == 302
    assert known_of(answer) is not None
    for _ in range(5):
        assert log_in(port, "ida", "wrong", headers=[known]).status == 403
    assert log_in(port, "ida", headers=[known]).status == 429


def test_a_foreign_page_logs_nobody_in(port):
    assert log_in(port, "ada", headers=[("Origin", "https://evil.example")]).status == 403


def luminance(colour):
    """The relative luminance of ``#rrggbb`` (WCAG 2)."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_login_page_is_light_or_dark_and_readable():
    dark, light = re.findall(r":root \{([^}]+)\}", LOGIN_PAGE.template)
    grounds = []
    for text in (dark, light):
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", text))
        for front, back in (("text", "ground"), ("text", "field"), ("on-main", "main"),
                            ("wrong", "ground")):  # fmt: skip
            low, high = sorted(luminance(colours[name]) for name in (front, back))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (front, back)
        grounds.append(luminance(colours["ground"]))
    assert grounds[0] < 0.05
    assert grounds[1] > 0.8


def test_the_login_page_asks_nobody_else(port):
    status, page = ask(port, "/lab/login")
    assert status == 200
    assert not re.search(r"https?://|//\w|<script|src=|@import", page)


@pytest.mark.parametrize(
    "path", ["/lab/", "/lab/?file=/etc/passwd", "/lab/autoload.js?bokeh-autoload-element=x"]
)
def test_who_is_not_logged_in_is_sent_to_log_in(port, path):
    connection = http.client.HTTPConnection("localhost", port, timeout=PATIENCE)
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.status in (302, 403)
    assert "login" in (answer.getheader("Location") or "login")
    assert b"token" not in answer.read()
    connection.close()


def test_cookies_that_the_server_did_not_sign_let_nobody_in(port, cookies):
    good = cookies["ada"][1]
    for bad in (
        "user=ada",
        "user=",
        good[:-1] + "01"[good.endswith("0")],
        good.replace("|4:user|", "|4:usex|"),
        "is_guest=1",
    ):
        status, page = ask(port, "/lab/", headers=[("Cookie", bad)])
        assert status == 302, bad
        assert "token" not in page


def token_of(port, cookie):
    status, page = ask(port, "/lab/", headers=[cookie])
    assert status == 200
    return re.search(r'"token":"([^"]+)"', page)[1]


def test_a_tab_of_one_person_is_not_opened_by_another(port, cookies):
    token = token_of(port, cookies["ada"])
    options = {"path": "/lab/ws"}
    assert open_socket(port, token, headers=[cookies["ada"]], **options)[0] == 101
    status, text = open_socket(port, token, headers=[cookies["eve"]], **options)
    assert (status, "made for another person" in text) == (403, True)
    assert open_socket(port, token, **options)[0] == 403


def test_two_people_who_open_one_link_share_no_tab(port, cookies):
    for name in ("ada", "eve"):
        status, text = ask(port, "/lab/?bokeh-session-id=X", headers=[cookies[name]])
        assert (status, "server sets the session ID" in text) == (403, True)
    tokens = {token_of(port, cookies[name]) for name in ("ada", "eve")}
    assert len(tokens) == 2


def test_who_is_taken_from_the_list_is_told_so(port, folder):
    add_person(folder / "people.txt", "tim", PASSWORD)
    cookie = ("Cookie", log_in(port, "tim").getheader("Set-Cookie").split(";")[0])
    assert ask(port, "/lab/status", headers=[cookie])[0] == 200
    path = folder / "people.txt"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("tim:")))
    status, text = ask(port, "/lab/status", headers=[cookie])
    assert (status, "tim is not among the people of this server" in text) == (403, True)
    assert ask(port, "/lab/login", headers=[cookie])[0] == 200


def test_the_way_out_takes_the_cookie(port, cookies):
    connection = http.client.HTTPConnection("localhost", port, timeout=PATIENCE)
    both = f"{cookies['eve'][1]}; known=x"
    connection.request("GET", "/lab/logout", headers={"Cookie": both})
    answer = connection.getresponse()
    assert answer.getheader("Location") == "/lab/login"
    assert answer.getheader("Set-Cookie").startswith('user="";')
    assert "known" not in answer.getheader("Set-Cookie")
    connection.close()
