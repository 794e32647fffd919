"""A page runs its own scripts and this server's, and none that comes into it by a name."""

from __future__ import annotations

INJECTED = """() => new Promise((done) => {
  window.ran = []
  window.addEventListener("securitypolicyviolation", (event) => {
    window.ran.push(event.effectiveDirective)
    if (window.ran.length === 4) done(window.ran.sort())
  })
  const place = document.createElement("div")
  document.body.append(place)
  place.innerHTML = '<img src="data:," onerror="window.ran.push(1)">'
  for (const [key, value] of [["textContent", "window.ran.push(2)"],
    ["src", "data:text/javascript,window.ran.push(3)"], ["src", "https://evil.example/x.js"]]) {
    const script = document.createElement("script")
    script[key] = value
    place.append(script)
  }
})"""


# The other test breaks the rules in the same tab.
def test_the_pages_own_scripts_are_let_run(still_visit, dashboard_url):
    visit = still_visit
    visit.settle()
    assert [text for text in visit.errors if "Content Security Policy" in text] == []
    assert {url.split("/")[2] for url in visit.requests if url.startswith("http")} == {
        dashboard_url.split("/")[2]
    }


def test_no_script_comes_into_a_page_by_a_name(still_visit):
    blocked = still_visit.page.evaluate(INJECTED)
    assert blocked == ["script-src-attr", "script-src-elem", "script-src-elem", "script-src-elem"]
