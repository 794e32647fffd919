"""The Dockerfile, the service and the proxy of docs/server.md fit what there is."""

from __future__ import annotations

import http.client
import http.server
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from fnmatch import fnmatch
from http.cookiejar import CookieJar
from textwrap import dedent
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from tests.browser.conftest import served
from tests.conftest import ROOT
from tests.waiting import PATIENCE, wait_until

DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
STEPS = re.findall(r"^([A-Z]+) (.*)$", DOCKERFILE, re.MULTILINE)
GUIDE = (ROOT / "docs/server.md").read_text()
SERVICE = re.search(r"( {4}\[Service\]\n(?: {4}.*\n|\n)+)", GUIDE)[1]


@pytest.fixture(scope="module")
def options():
    """The options of ``genoviz serve``."""
    command = [sys.executable, "-m", "genoviz", "serve", "--help"]
    told = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=PATIENCE, cwd=ROOT
    )
    return set(re.findall(r"--[a-z][a-z-]+", told.stdout))


def test_the_image_begins_with_a_python_that_genoviz_runs_with():
    bases = [words.split()[0] for name, words in STEPS if name == "FROM"]
    assert len(bases) == 2
    for base in bases:  # a name alone: no registry, and no image of somebody's own
        assert re.fullmatch(r"python:3\.1[1-9]-slim", base)


def test_what_the_image_copies_is_there_and_is_let_in():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = [line[1:] for line in lines if line.startswith("!")]
    copied = [
        name
        for step, words in STEPS
        if step == "COPY" and "--from" not in words
        for name in words.split()[:-1]
    ]
    assert lines[0] == "*"
    assert sorted(copied) == sorted(let_in)
    for name in copied:
        assert (ROOT / name).exists(), name
    assert not any(fnmatch("genoviz", line) for line in lines[1:])


def test_the_image_runs_without_root_and_asks_for_its_health():
    names = [name for name, _ in STEPS]
    user = dict(STEPS)["USER"]
    assert f"useradd --system --no-create-home {user} " in DOCKERFILE
    assert names.index("USER") < names.index("ENTRYPOINT")
    command = dict(STEPS)["HEALTHCHECK"].partition("CMD ")[2]
    assert "/healthz" in json.loads(command)[-1]
    compile(json.loads(command)[-1], "HEALTHCHECK", "exec")


def test_all_packages_of_the_image_have_hashes():
    runs = [words for name, words in STEPS if name == "RUN" and "pip install" in words]
    assert len(runs) == 2
    for words in runs:
        assert ("--require-hashes -r" in words) != ("--no-deps" in words)


def test_what_the_image_and_the_service_run_are_commands_of_genoviz(options):
    image = json.loads(dict(STEPS)["ENTRYPOINT"])
    service = re.search(r"ExecStart=(.*)", SERVICE)[1].split()
    for command in (image, service):
        assert command[0].endswith("/genoviz")
        assert command[1] == "serve"
        used = {word for word in command[2:] if word.startswith("--")}
        assert used
        assert used <= options


def test_the_service_may_write_where_it_has_to():
    """ProtectSystem=strict leaves a service the folders that its unit names."""
    folders = dict(re.findall(r"(\w+Directory)=(\w+)", SERVICE))
    assert folders == {"CacheDirectory": "genoviz", "StateDirectory": "genoviz"}
    for name in ("GENOVIZ_CACHE_DIR", "NUMBA_CACHE_DIR"):
        assert re.search(rf"{name}=/var/cache/genoviz", SERVICE)
        assert re.search(rf"{name}=/cache", dict(STEPS)["ENV"])


# Behind nginx.

PROXY = re.search(r"( {4}server \{\n(?: {8}.*\n|\n)+ {4}\}\n)", GUIDE)[1]
AROUND = """
daemon off;
pid {folder}/pid;
error_log {folder}/log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{server}}}
"""
LAB = """
[server]
port = 0
prefix = "/genoviz"
https = true
hosts = ["lab.example.org"]
[files]
folders = ["."]
[people]
passwords = "people.txt"
secret_file = "cookies.key"
"""


@pytest.fixture
def proxy(tmp_path):
    """The port at which nginx speaks HTTPS for a server, and the certificate."""
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        pytest.skip("no nginx or no openssl here")
    from genoviz_app.server.passwords import add_person

    certificate, key = tmp_path / "lab.pem", tmp_path / "lab.key"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=lab.example.org"
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make.split(), *names, *files], check=True, capture_output=True)
    add_person(tmp_path / "people.txt", "ada", "correct horse")
    (tmp_path / "lab.toml").write_text(LAB)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab = str(tmp_path / "lab.toml")
    with served("-m", "genoviz", "serve", "--no-browser", "--lab", lab) as (url, _):
        server = PROXY.replace("listen 443", f"listen 127.0.0.1:{port}")
        server = server.replace("127.0.0.1:5006", re.search(r"[\d.]+:\d+", url)[0])
        server = re.sub(r"(ssl_certificate )\S+;", rf"\g<1>{certificate};", server)
        server = re.sub(r"(ssl_certificate_key )\S+;", rf"\g<1>{key};", server)
        settings = tmp_path / "nginx.conf"
        settings.write_text(AROUND.format(folder=tmp_path, server=server))
        command = ["nginx", "-p", str(tmp_path), "-c", str(settings), "-e", str(tmp_path / "log")]
        nginx = subprocess.Popen(command)
        try:
            wait_until(lambda: (tmp_path / "pid").exists() or nginx.poll() is not None)
            assert nginx.poll() is None, (tmp_path / "log").read_text()
            yield port, certificate
        finally:
            nginx.terminate()
            nginx.wait(PATIENCE)


def test_a_tab_is_opened_by_https_through_nginx_as_documented(proxy):
    port, certificate = proxy
    host = f"lab.example.org:{port}"

    def ask(method, path, body=None, **headers):
        context = ssl.create_default_context(cafile=certificate)
        asked = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=PATIENCE)
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        asked.request(method, path, body, {"Host": host, "Origin": f"https://{host}", **more})
        answer = asked.getresponse()
        text = "" if answer.status == 101 else answer.read().decode()
        asked.close()
        return answer, text

    answer, _ = ask("GET", "/genoviz/")
    assert answer.status == 302
    assert answer.getheader("Location").startswith("./login?")
    form = urlencode({"name": "ada", "password": "correct horse"})
    kind = "application/x-www-form-urlencoded"
    answer, _ = ask("POST", "/genoviz/login", form, Content_Type=kind)
    assert answer.status == 302
    cookie, *marks = answer.getheader("Set-Cookie").split("; ")
    assert "Secure" in marks
    answer, page = ask("GET", "/genoviz/", Cookie=cookie)
    assert answer.status == 200
    token = re.search(r'"token":"([^"]+)"', page)[1]
    answer, _ = ask(
        "GET", "/genoviz/ws", Cookie=cookie, Upgrade="websocket", Connection="Upgrade",
        Sec_WebSocket_Version="13", Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
        Sec_WebSocket_Protocol=f"bokeh, {token}",
    )  # fmt: skip
    assert answer.status == 101
    assert ask("GET", "/genoviz/", Cookie=cookie, Host="evil.example")[0].status == 403


# In JupyterHub.

IN_HUB = re.search(r"( {4}c\.ServerProxy\.servers = \{\n(?: {8}.*\n)+ {4}\}\n)", GUIDE)[1]


def test_the_command_for_jupyterhub_serves_a_user_under_any_name(options):
    settings = SimpleNamespace(ServerProxy=SimpleNamespace())
    exec(dedent(IN_HUB), {"c": settings})
    server = settings.ServerProxy.servers["genoviz"]
    assert server["absolute_url"]
    home = "/user/ada.l@lab%2Borg/"  # names are escaped in part only
    words = [word.format(port=0, base_url=home) for word in server["command"]]
    assert words[0].endswith("/genoviz")
    assert {word for word in words if word.startswith("--")} <= options

    def ask(port, path):
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        asked.request("GET", path, headers={"Host": "hub.example.org"})
        answer = asked.getresponse()
        text = answer.read().decode()
        asked.close()
        return answer.status, answer.getheader("Location"), text

    with served("-m", "genoviz", *words[1:]) as (url, _):
        port = urlsplit(url).port
        assert ask(port, f"{home}genoviz")[:2] == (302, f"{home}genoviz/")
        status, _, page = ask(port, f"{home}genoviz/?page=kmers")
        assert status == 200
        assert '"token":' in page
        assert ask(port, "/genoviz/")[0] == 404


# A provider of OpenID Connect.

PROVIDER = """
[server]
port = {port}
prefix = "/genoviz"
[files]
folders = ["."]
[oauth]
provider = "generic"
key = "genoviz"
secret_file = "oauth.key"
redirect = "http://127.0.0.1:{port}/genoviz/login"
allow = ["ada@example.org"]
"""
SECRET = "a secret that only the provider and the server know"


class Identities(http.server.BaseHTTPRequestHandler):
    """A provider where everybody is who they say, with the checks that the standard asks for."""

    person = ""

    def do_GET(self):
        """Send a browser back with a code, or tell the server who has a token."""
        address = urlsplit(self.path)
        if address.path == "/userinfo":
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            return self.answer(200, {"email": token.removeprefix("token of ")})
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        assert (asked["client_id"], asked["response_type"]) == ("genoviz", "code")
        sent = urlencode({"code": f"code of {self.person}", "state": asked["state"]})
        return self.answer(302, {}, Location=f"{asked['redirect_uri']}?{sent}")

    def do_POST(self):
        """Give a token for a code."""
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = {name: values[0] for name, values in parse_qs(text).items()}
        is_right = (asked["grant_type"], asked.get("client_secret")) == (
            "authorization_code",
            SECRET,
        )
        if not is_right or not asked["code"].startswith("code of "):
            return self.answer(400, {"error": "invalid_grant"})
        token = f"token of {asked['code'].removeprefix('code of ')}"
        return self.answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": 60})

    def answer(self, status, body, **headers):
        """Send an answer in JSON."""
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_what):
        """Print nothing."""


@pytest.fixture
def provider(tmp_path):
    """The address of a lab, and the provider that says who its people are."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "oauth.key").write_text(SECRET)
    (tmp_path / "lab.toml").write_text(PROVIDER.format(port=port))
    identities = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Identities)
    threading.Thread(target=identities.serve_forever, daemon=True).start()
    there = f"http://127.0.0.1:{identities.server_port}"
    documented = re.search(r'PANEL_OAUTH_EXTRA_PARAMS="(\{.*?\})"', GUIDE, re.DOTALL)[1]
    known = documented.replace("https://id.example.org", there)
    lab = str(tmp_path / "lab.toml")
    command = "-m", "genoviz", "serve", "--no-browser", "--lab", lab
    try:
        with served(*command, PANEL_OAUTH_EXTRA_PARAMS=known) as (url, _):
            yield url, identities
    finally:
        identities.shutdown()
        identities.server_close()


def test_people_of_an_openid_provider_log_in_as_documented(provider):
    url, identities = provider

    def browse(address, browser):
        try:
            with browser.open(address, timeout=PATIENCE) as answer:
                return answer.status, answer.url, answer.read().decode()
        except HTTPError as error:
            return error.code, error.url, error.read().decode()

    def new_browser():
        return build_opener(HTTPCookieProcessor(CookieJar()))

    identities.RequestHandlerClass.person = "ada@example.org"
    ada = new_browser()
    status, address, page = browse(url, ada)
    assert (status, address) == (200, f"{url}/")
    assert "genoviz" in page
    status, address, _ = browse(f"{url}/?page=kmers", ada)
    assert (status, address) == (200, f"{url}/?page=kmers")
    status, _, page = browse(f"{url}/login?code=code+of+ada@example.org&state=made+up", ada)
    assert status == 401
    assert "state mismatch" in page

    identities.RequestHandlerClass.person = "mallory@example.org"
    status, _, page = browse(url, new_browser())
    assert status == 403
    assert "mallory@example.org is not among the people of this server" in page
