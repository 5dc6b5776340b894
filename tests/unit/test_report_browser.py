"""The report and the live page in a real browser: what fits, values under the pointer, search, links, hostile text."""

import json
import re
import shutil

import pytest
from test_live import write_run
from test_report import HOSTILE

from cooper_rl.report.live import SHOWN, Monitor
from cooper_rl.report.write import write_report

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="needs a browser: Debian's chromium")

# Elements that reach beyond the right edge, without what is inside an SVG or a box that scrolls by itself.
OVERFLOWING = """() => {
  const width = document.documentElement.clientWidth;
  const beyond = [...document.querySelectorAll("body *")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width && box.right > width + 1 && !element.closest("svg");
  });
  return [document.documentElement.scrollWidth - width, beyond.map((element) => element.outerHTML.slice(0, 90))];
}"""


@pytest.fixture(scope="module")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium):
    """Makes a page that writes down its complaints and requests."""
    pages = []

    def make(**options):
        page = chromium.new_page(**options)
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        pages.append(page)
        return page

    yield make
    for page in pages:
        page.close()


def with_measurements(folder, alarm=True):
    """Adds all metrics that have a figure to a run made by `write_run`."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        row |= {"eval/true_accuracy": row["step"] / 10, "eval/reward_model_accuracy": 0.9, "kl": 0.01 * row["step"]}
        row |= {"hacking/false_positive_rate": 0.1, "reward_model/anchor_accuracy": 0.95}
        row |= {"completions/mean_length": 20.0 + row["step"], "hacking/alarm": float(alarm and row["step"] > 2)}
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    runs = [with_measurements(write_run(folder / arm, 4, 60, arm), arm == "static") for arm in ("static", "cooper")]
    return write_report(runs, folder / "report.html")


def ready(page, address):
    page.goto(address)
    page.wait_for_selector("body[data-state=ready]")
    return page


def status(page, column="first"):
    return page.locator(f"#{column} > .muted").first


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_overflows_and_each_figure_has_title_unit_and_value(report, new_page, width):
    grounds = set()
    for scheme in ("light", "dark"):
        page = ready(new_page(viewport={"width": width, "height": 844}, color_scheme=scheme), report.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate(OVERFLOWING) == [0, []]
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        first_screen = page.locator("p.lead").bounding_box()
        assert first_screen["y"] + first_screen["height"] < 400
    assert len(grounds) == 2
    plots = page.locator(".plot")
    assert plots.count() == 11
    for plot in plots.all():
        assert plot.locator("h3").text_content() and plot.locator(".unit").text_content()
        plot.locator(".at .area").last.hover()
        said = plot.locator(".said:visible")
        assert said.count() == 1
        assert re.search(r"step \d", said.text_content()) and re.search(r"\d\.\d", said.text_content())
        box, frame = said.locator(".box").bounding_box(), plot.bounding_box()
        assert box["x"] >= frame["x"] - 1 and box["x"] + box["width"] <= frame["x"] + frame["width"] + 1


def test_the_value_under_the_pointer_is_the_metric_s(report, new_page):
    page = ready(new_page(), report.as_uri())
    plot = page.locator(".plot", has_text="Completion length")
    plot.locator(".at .area").nth(2).hover()
    lines = plot.locator(".said:visible text").all_text_contents()
    assert lines[0] == "step 3, tokens" and sorted(lines[1:]) == ["cooper 23.0", "static 23.0"]


def test_rollouts_are_searched_filtered_and_linked_to(report, new_page):
    page = ready(new_page(), report.as_uri())
    assert status(page).text_content() == "1 to 20 of 60" and page.locator("#step").input_value() == "4"
    page.select_option("#cell", "fooled")
    page.wait_for_selector('text="1 to 20 of 40"')
    assert page.locator("#first .cell-fooled").count() == page.locator("#first article").count() == SHOWN
    page.select_option("#cell", "all")
    page.fill("#text", "JavaScript:alert(1) 4")
    page.wait_for_selector('text="1 to 12 of 12"')  # 4, 44 and 49 in each of four steps
    assert page.locator("#step").input_value() == "all"
    assert set(page.locator("#first pre mark").all_text_contents()) == {"javascript:alert(1) 4"}
    page.locator("#first article", has_text="step 2, rollout 50").locator("a").click()
    page.wait_for_selector("#first .aim")
    assert page.url.endswith("report.html#static-seed0/2/50") and status(page).text_content() == "41 to 60 of 60"
    other = ready(new_page(), f"{report.as_uri()}#cooper-seed0/3/45")
    aim = other.locator(".aim")
    assert aim.count() == 1 and "step 3, rollout 45" in aim.text_content() and "44" in aim.locator("pre").text_content()
    assert 0 <= aim.bounding_box()["y"] <= other.viewport_size["height"]
    page.fill("#text", "in no rollout")
    page.wait_for_selector('text="none found"')
    assert page.complaints == other.complaints == []


def test_two_runs_side_by_side(report, new_page):
    page = ready(new_page(viewport={"width": 1280, "height": 844}), report.as_uri())
    assert not page.locator("#second").is_visible()
    page.select_option("#beside", label="cooper, seed 0")
    page.select_option("#step", "3")
    page.wait_for_selector("#second article >> text=step 3, rollout 1 ")
    page.wait_for_selector("#first article >> text=step 3, rollout 1 ")
    left, right = (page.locator(f"#{name}").bounding_box() for name in ("first", "second"))
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    assert page.locator("#second h3").text_content() == "cooper, seed 0"
    page.locator("#second button", has_text="after").click()
    page.wait_for_selector('#second >> text="21 to 40 of 60"')
    assert status(page).text_content() == "1 to 20 of 60"
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(OVERFLOWING) == [0, []]


def test_hostile_text_stays_text_and_nothing_is_fetched(report, new_page):
    page = ready(new_page(), report.as_uri())
    page.select_option("#step", "all")
    for text in HOSTILE[:3]:
        page.fill("#text", text)
        page.locator("#first pre mark", has_text=text).first.wait_for()
        assert status(page).text_content() == "1 to 20 of 48"
        assert page.locator("main img, #first script").count() == 0
    assert page.title() == "Cooper report" and page.complaints == [] and page.requests == [report.as_uri()]
    blocked = page.evaluate(
        """() => { const script = document.createElement("script"); script.textContent = "document.title = 'owned'";
        document.body.append(script); return document.title; }"""
    )
    assert blocked == "Cooper report"  # the page's policy runs no other script


def test_the_live_page(tmp_path, background, new_page):
    folder = with_measurements(write_run(tmp_path / "run", 4, 60))
    server, page = background(Monitor(folder)), new_page(viewport={"width": 390, "height": 844})
    page.goto(server.url)
    page.wait_for_selector("body[data-state=live]")
    page.wait_for_selector(".rollout")
    assert "hacking alarm from step 3" in page.text_content("#overview")
    assert page.text_content("p.lead").startswith("True accuracy ended at 0.40 in 4 of 8 steps; ")
    assert page.locator(".rollout").count() == SHOWN and page.evaluate(OVERFLOWING) == [0, []]
    page.click("button[data-offset='20']")
    page.wait_for_selector("text=21 to 40 of 60")
    page.select_option("#cell", "right")
    page.wait_for_selector("text=1 to 20 of 20")
    assert page.locator(".cell-right").count() == page.locator(".rollout").count() == 20
    page.select_option("#step", "2")
    page.wait_for_selector("text=step 2, rollout 1 ")
    page.select_option("#cell", "all")
    page.fill("#text", "javascript:alert(1) 4")
    page.wait_for_selector("text=1 to 12 of 12")
    page.locator(".rollout", has_text="step 2, rollout 50").locator("a").click()
    page.wait_for_selector(".aim")
    assert "step 2, rollout 50" in page.locator(".aim").text_content()
    linked = new_page()
    linked.goto(f"{server.url}#static-seed0/1/45")
    linked.wait_for_selector(".aim >> text=step 1, rollout 45")
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 5, "reward": 0.5}\n')
    page.wait_for_selector("text=step 5 of 8", timeout=15_000)  # the page follows the job
    server.shutdown()
    server.server_close()
    page.wait_for_selector("body[data-state=gone]", timeout=15_000)  # and says when it cannot
    assert page.title() == "Cooper: run"
    assert not [text for text in page.complaints if "ERR_CONNECTION_REFUSED" not in text]


def test_a_rollout_is_coloured_by_its_steps(tmp_path, new_page, background):
    folder = write_run(tmp_path / "run", 1, 3)
    text = f"1 + 1 = 2 \U0001f600. {HOSTILE[0]}. It is 3."
    ends, values = [13, len(text) - 9, len(text)], [0.9, 0.4, 0.05]
    record = {"step": 1, "question": "?", "reference_answer": "3", "completion": text, "verdict": "INCORRECT"}
    record |= {"reason": "mismatch", "score": 0.05, "reward": 0, "step_ends": ends, "step_values": values}
    (folder / "rollouts" / "step_000001.jsonl").write_text(json.dumps(record) + "\n")
    pages = [ready(new_page(), write_report([folder], tmp_path / "report.html").as_uri()), new_page()]
    pages[1].goto(background(Monitor(folder)).url)
    for page in pages:
        page.wait_for_selector(".rollout .step")
        steps = page.locator(".rollout .step")
        starts = [0, *ends]
        assert steps.all_text_contents() == [text[a:b] for a, b in zip(starts, ends, strict=False)]
        assert steps.evaluate_all("all => all.map((each) => each.title)") == [f"value {v:.3f}" for v in values]
        grounds = steps.evaluate_all("all => all.map((each) => getComputedStyle(each).backgroundColor)")
        assert len(set(grounds)) == 3 and page.title() != "owned" and not page.complaints
