"""The report is one page that needs no other file and is accessible."""

import base64
import hashlib
import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import fairport as fp
import pytest
import synthetic
from fairport import figures
from fairport.figures.drawing.saving import Saver
from fairport.report import about_run, inline, rows
from fairport.report.page import groups_in_words, render, write
from fairport.report.rows import trace_table

RUNS = {
    "fifteen to one": {},
    "113 flows": {"classes": {2: 3, 4: 12, 6: 98}},
    "one flow": {"classes": {6: 1}},
    "no drops": {"lossless": True},
}


class Page(HTMLParser):
    """The elements of a page."""

    void = {"meta", "link", "img", "br", "hr", "path", "use", "rect", "stop"}  # noqa: RUF012

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in self.void:
            assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(scope="module", params=RUNS)
def written(request, tmp_path_factory):
    result = synthetic.run(**{"duration_s": 0.5} | RUNS[request.param])
    path = write(result, tmp_path_factory.mktemp("run"))
    return result, path.read_text(encoding="utf-8")


def test_it_refers_to_nothing_outside_itself(written):
    _, text = written
    for tag, attributes in Page(text).elements:
        assert tag not in ("link", "iframe", "object", "embed", "base"), tag
        for name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
            target = attributes.get(name, "#")
            if tag == "a":
                beside = r"#.*|[\w./-]+\.(json|parquet|png|svg)"
                assert re.fullmatch(beside, target), f"a link to {target}"
            else:
                assert target.startswith(("#", "data:image/")), f"<{tag} {name}={target[:80]}>"
    text = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert re.findall(r"url\((?!#)[^)]*\)", text) == []
    assert "@import" not in text
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\s\"'<>]+", text)) <= namespaces


def test_it_is_well_formed_and_every_id_is_there_once(written):
    _, text = written
    page = Page(text)
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = re.findall(r"url\(#([^)]+)\)", text)
    used += [a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a]
    used += [a["xlink:href"][1:] for a in page.all("use")]
    assert set(used) <= set(ids)


def test_the_verdict_comes_before_everything_else(written):
    result, text = written
    after_heading = Page(text).text.split(" Verdict ", maxsplit=1)[1]
    assert after_heading.strip().startswith(result.summary["verdict"]["sentence"])


def test_it_holds_every_figure_with_words_for_those_who_do_not_see_it(written):
    result, text = written
    page = Page(text)
    pictures = [a["aria-label"] for a in page.all("svg") if "aria-label" in a]
    pictures = [one for one in pictures if not one.startswith("Network of")]
    pictures += [a["alt"] for a in page.all("img")]
    kinds = figures.kinds(result)
    assert len(pictures) == len(kinds)
    for kind in kinds:
        title = html.unescape(figures.draw(result, kind).title)
        subject = figures.kind(kind).SUBJECT
        assert any(label.startswith(f"{title}. {subject}. ") for label in pictures)
        assert figures.kind(kind).CAPTION.replace("'", "&#39;") in text


def test_ratios_in_two_groups_are_said_to_be_so_and_others_are_not():
    def runs(*ratios):
        return [{"verdict": {"ratio": ratio}} for ratio in ratios]

    two = runs(0.2, 0.21, 0.22, None, 0.2, 0.21, 1.0, 1.02, 1.04)
    assert groups_in_words(two) == (
        "The throughput ratios fall into two groups: near 0.21 (5 seeds) and 1.02 (3 seeds)."
    )
    assert groups_in_words(runs(*[0.98] * 4, *[1.0] * 4)) == "", "a gap, but no difference"
    assert groups_in_words(runs(0.1, 0.1, 0.1, 0.9, 0.9, 0.9)) == "", "too few to say"
    assert groups_in_words(runs(None, None)) == ""


def test_tables_have_headers(written):
    page = Page(written[1])
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.all("th"))
    assert page.all("html")[0]["lang"] == "en"


def test_it_says_how_the_run_was_made(written):
    result, text = written
    words = Page(text).text
    for said in (result.fingerprint, "fairport rerun RUN", "fairport 0.1.0", "30us + U(0, 20us)"):
        assert said in words


@pytest.mark.parametrize(
    ("queue", "shown"),
    [
        ({"kind": "step-marking"}, "step-marking, limit 128KiB, mark_above 20 packets"),
        ({"kind": "linux-sfq"}, "linux-sfq, limit 127 packets, depth 127, divisor 1024, flows 128"),
        (
            {"kind": "custom", "name": "mine", "limit": "16KiB", "parameters": {"share": 0.5}},
            "custom mine, limit 16KiB, share 0.5",
        ),
    ],
)
def test_what_a_queue_does_is_said_with_its_defaults(queue, shown):
    result = synthetic.run(duration_s=0.1)
    result = replace(result, scenario=result.scenario.patch({"queue": queue}))
    assert dict(about_run.facts(result))["Queue"].startswith(shown)


def test_what_cannot_be_repeated_is_not_offered_to_be():
    """The packets of real hosts are other ones each time; captures are not run at all."""
    result = synthetic.run(duration_s=0.1)
    for backend, offered in (("linux", "packets of real hosts"), ("captures", "How the run")):
        summary = result.summary | {"backend": backend}
        words = Page(render(replace(result, summary=summary), inline.Path("nowhere"))).text
        assert "fairport rerun" not in words
        assert offered in words


def test_published_figures_stand_below_ours():
    result = synthetic.run(duration_s=0.1)
    page = Page(render(result, inline.Path("nowhere")))
    assert "12.3" in page.text, "facts P1: the 2-hop flow of the paper"
    assert "paper 0.921" in page.text


def test_text_of_the_scenario_is_text():
    result = synthetic.run(duration_s=0.1)
    scenario = result.scenario.model_copy(update={"description": "<script>alert(1)</script>"})
    result = replace(result, scenario=scenario)
    text = render(result, inline.Path("nowhere"))
    assert text.count("<script>") == 1, "its own"
    assert "<script>alert" not in text


def test_the_policy_allows_its_own_script_and_style_alone(written):
    _, text = written
    policy = html.unescape(re.search(r'Policy" content="([^"]*)"', text)[1])
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    for tag, source in (("script", "script-src"), ("style", "style-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in policy
    assert not any("style" in attributes for _, attributes in Page(text).elements)


def test_a_figure_that_is_larger_as_svg_goes_in_as_png(monkeypatch):
    monkeypatch.setattr(inline, "SVG_LIMIT_BYTES", 1000)
    picture = inline.picture(synthetic.run(duration_s=0.1), "bars", inline.Path("nowhere"))
    assert picture.startswith('<img src="data:image/png;base64,iVBOR')


def test_figures_that_are_already_drawn_are_taken(tmp_path):
    result = synthetic.run(duration_s=0.1)
    figures.draw_all(result, tmp_path, Saver(None))
    (tmp_path / "bars.svg").write_text('<svg viewBox="0 0 1 1"><title>mine</title></svg>')
    # a title within the page would be shown beside the pointer
    shown = inline.picture(result, "bars", tmp_path)
    assert 'aria-label="mine. Goodput of each flow. ' in shown
    assert "<title>" not in shown


def test_the_trace_is_printed_as_the_paper_does():
    result = synthetic.run(duration_s=0.5)
    trace = trace_table(result)
    assert trace.columns[:5] == ["ingress", "time_us", "fate", "egress", "depart_us"]
    assert trace["time_us"][0] == 0
    assert trace["time_us"].is_sorted()
    dropped = trace["fate"] == "dropped"
    assert trace["egress"].is_null().to_list() == dropped.to_list()
    assert trace["depart_us"].is_null().to_list() == dropped.to_list()
    assert set(trace["egress"].drop_nulls()) == {"edge0.0:0"}
    assert trace_table(synthetic.run(duration_s=0.1, lossless=True)).is_empty()


def test_totals_are_in_the_unit_of_the_networks_own_links():
    links = [{"ends": [host, "s"], "rate": "40Gbps"} for host in ("h0", "h1", "h2")]
    graph = {"kind": "graph", "hosts": ["h0", "h1", "h2"], "switches": ["s"], "links": links}
    load = [{"from": "h1", "to": "h0"}, {"kind": "udp", "from": "h2", "to": "h0", "rate": "1Gbps"}]
    run = {"name": "own", "duration": "10ms", "topology": graph, "traffic": load}
    headings, _ = rows.traffic(fp.run(run))
    assert ("Total goodput", "Gbit/s") in headings
