"""Stories: views with captions, as one link and as one page that needs no script."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from genoviz_app.dashboard import Dashboard
from genoviz_app.parts import wayfinding
from tests.app.conftest import poll_until
from tests.node import needs_node, run_script

PIXEL = "data:image/png;base64,iVBORw0KGgo="
EVIL = "\"><script>hit()</script>\n<img src=x onerror='hit()'> & é 😀"


def run(code, **values):
    given = "".join(f"const {name} = {json.dumps(value)};" for name, value in values.items())
    return run_script(given + code, wayfinding.SCRIPTS / "story.js")


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.links, self.pictures = [], "", [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        assert not any(name.startswith("on") for name in values)
        self.links += [values["href"]] if tag == "a" else []
        self.pictures += [values["src"]] if tag == "img" else []

    def handle_data(self, data):
        self.words += data


@needs_node
def test_a_story_is_one_link_and_one_page_without_a_script():
    views = [
        {"query": "?page=tracks&region=c1:0-9", "caption": EVIL, "picture": PIXEL},
        {"query": "?file=a&x='\"><b>", "caption": "second", "picture": "javascript:hit()"},
    ]
    long = [{"query": f"?region=c{n}:0-9&file=a", "caption": "c" * 200} for n in range(30)]
    back, size, none, other, page = run(
        """
        const hash = await m.encodeStory(views, 1);
        print([hash, await m.decodeStory(hash)]);
        print((await m.encodeStory(long, 0)).length);
        const bad = ["", "#x", "#story=", "#story=1.###", "#story=1.AAAA"];
        print(await Promise.all(bad.map(m.decodeStory)));
        const evil = [["javascript:hit()", "a"], ["https://x", "b"], ["?file=a", 7], [null, "c"]];
        const odd = await m.encodeStory(evil.map(([query, caption]) => ({query, caption})), 9);
        print([(await m.decodeStory(odd)), m.ownQuery("?story=1&file=a&story"), m.ownQuery(""),
               m.queryInStory("?file=a"), m.queryInStory("")]);
        print(m.storyPage("A & B", views, "https://here/app"));
        """,
        views=views,
        long=long,
    )
    hash, found = back
    assert hash.startswith("#story=2.")
    assert found["at"] == 1
    assert [(v["query"], v["caption"]) for v in found["views"]] == [
        (v["query"], v["caption"]) for v in views
    ]
    assert size < 1_500
    assert none == [{"views": [], "at": 0}] * 5
    assert [(v["query"], v["caption"]) for v in other[0]["views"]] == [("?file=a", "7")]
    assert other[0]["at"] == 0
    assert other[1:] == ["?file=a", "", "?file=a&story=1", "?story=1"]
    read = Page(page)
    assert set(read.tags) <= set(
        "html head meta title style body h1 figure img figcaption b br a p".split()
    )
    assert read.tags.count("b") == read.tags.count("figure") == 2
    assert read.pictures == [PIXEL]
    assert read.links == [f"https://here/app{view['query']}" for view in views]
    assert EVIL.replace("\n", "") in read.words
    assert "This view has no picture." in read.words


@needs_node
def test_the_picture_of_a_word_ends_where_its_element_cuts_it():
    fits, cut, letter, none = run(
        """
        const measure = (text) => 7 * [...text].length;
        for (const room of [63, 62, 14, 3]) print(m.fitWord("123456789", room, measure));
        """
    )
    assert (fits, cut, letter, none) == ("123456789", "1234567…", "1…", "…")


def test_a_story_is_made_when_it_is_opened_and_its_views_are_shown(graph_file):
    dashboard = Dashboard(f"?file={graph_file}")
    dashboard.open_first()
    poll_until(dashboard.poll, lambda: dashboard.session.opened is not None)
    assert dashboard.story is None
    assert "story=" not in dashboard._link()
    dashboard._open_story()
    story = dashboard.story
    assert story in dashboard.root.main[0].objects
    said = []
    story._send_msg = said.append
    story._handle_msg({"act": "link"})
    (first,) = said
    assert str(graph_file) in first["query"]
    assert "story=" not in first["query"]
    assert dashboard._address().story == "1"
    path = dashboard.session.opened.graph.path_names[0]
    story._handle_msg({"act": "show", "query": f"?page=tracks&file={graph_file}&region={path}:1-4"})
    assert dashboard.page.slug == "tracks"
    assert str(dashboard.session.region) == f"{path}:1-4"
    story._handle_msg({"act": "show", "query": first["query"]})
    assert dashboard.page.slug == "pangenome"
    story._handle_msg({"act": "close"})
    assert dashboard.story is None
    assert story not in dashboard.root.main[0].objects
    dashboard.close()


def test_a_link_to_a_story_opens_it(graph_file):
    dashboard = Dashboard(f"?file={graph_file}&story=1")
    dashboard.open_first()
    assert dashboard.story is not None
    assert dashboard.session.problem == ""
    dashboard.close()
