"""The report and the live page in a real browser: what fits, the charts and their use, search, links, hostile text."""

import csv
import io
import json
import re
import shutil
from xml.etree import ElementTree

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


def with_measurements(folder, alarm=True, seed=0):
    """Adds metrics that have a figure to a run made by `write_run`."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        row |= {"eval/true_accuracy": row["step"] / 10, "eval/reward_model_accuracy": 0.9, "kl": 0.01 * row["step"]}
        row |= {"hacking/false_positive_rate": 0.1, "reward_model/anchor_accuracy": 0.95}
        row |= {"completions/mean_length": 20.0 + row["step"], "hacking/alarm": float(alarm and row["step"] > 2)}
        row["reward"] += 0.1 * seed
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = json.loads((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(json.dumps({**config, "seed": seed}))
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


def chart(page, title):
    """The chart with this title, after it has been drawn."""
    plot = page.locator(".plot", has=page.get_by_role("heading", name=title, exact=True))
    plot.scroll_into_view_if_needed()
    plot.locator(".main-svg").first.wait_for()
    return plot


def drawn(page, title):
    """What a chart shows: the values of each line by its name, and the ranges of its axes."""
    return (
        chart(page, title)
        .locator(".chart")
        .evaluate(
            """each => ({ x: each.layout.xaxis.range, y: each.layout.yaxis.range, shapes: each.layout.shapes.length,
        lines: Object.fromEntries(each.data.filter((t) => t.name).map((t) => [t.name, t.y])) })"""
        )
    )


def drag(page, title, start, end):
    """Drags over a chart, from one share of its width to another."""
    box = chart(page, title).locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + start * box["width"], box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], box["y"] + 100, steps=4)
    page.mouse.up()


def saved(page, button):
    with page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, download.value.path().read_text(encoding="utf-8")


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
    titles = plots.locator("h4").all_text_contents()
    assert len(set(titles)) == 11 and {"Mean reward", "Reward against truth", "static, seed 0"} <= set(titles)
    for title in titles:
        plot = chart(page, title)
        assert plot.locator(".unit").text_content()
        name = page.get_by_role("img", name=f"{title}, ").get_attribute("aria-label")
        assert re.search(r"from \d.* at step 1 to \d.* at step 4", name)
        area = plot.locator(".nsewdrag").first.bounding_box()
        page.mouse.move(area["x"] + area["width"] * 0.66, area["y"] + area["height"] / 2)
        said = plot.locator(".hoverlayer", has_text=re.compile(r"step \d"))
        if title == "Reward against truth":  # its points are met one by one
            continue
        said.wait_for(state="attached")
        assert re.search(r"\d\.\d", said.text_content())
        box, frame = plot.locator(".hoverlayer > g").first.bounding_box(), plot.bounding_box()
        assert box["x"] >= frame["x"] - 1 and box["x"] + box["width"] <= frame["x"] + frame["width"] + 1


def test_all_runs_values_under_the_pointer_are_the_metric_s(report, new_page):
    page = ready(new_page(), report.as_uri())
    plot = chart(page, "Completion length")
    area = plot.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(area["x"] + area["width"] * 0.66, area["y"] + 20)
    plot.locator(".hoverlayer", has_text="step 3").wait_for(state="attached")
    lines = plot.locator(".hoverlayer text").all_text_contents()
    assert sorted(text for text in lines if text) == ["cooper 23.0", "static 23.0", "step 3"]


def test_dragging_zooms_all_figures_and_fits_the_y_axis(report, new_page):
    page = ready(new_page(), report.as_uri())
    before = drawn(page, "Mean reward")
    assert before["y"] == [-0.02, 1.02] and before["shapes"] == 1  # the alarm
    drag(page, "Mean reward", 0.05, 0.6)  # of the steps 1 to 4
    page.wait_for_function("document.getElementById('from').value !== ''")
    low, high = drawn(page, "Mean reward")["y"]  # reward is 0.25 at step 1, 0.5 at step 2 and 0.75 at step 3
    assert 0.2 < low <= 0.25 and 0.75 <= high < 0.8
    assert drawn(page, "KL to the base policy")["x"] == drawn(page, "Mean reward")["x"] == [1, 3]
    assert [page.input_value(end) for end in ("#from", "#to")] == ["1", "3"]
    chart(page, "Mean reward").locator(".nsewdrag").first.dblclick()
    page.wait_for_function("document.getElementById('from').value === ''")
    assert drawn(page, "Mean reward")["y"] == [-0.02, 1.02]
    page.fill("#from", "3")
    page.locator("#from").press("Enter")
    low, high = drawn(page, "Mean reward")["y"]  # what is typed zooms too
    assert 0.7 < low <= 0.75 and 1 <= high < 1.05
    page.get_by_role("button", name="show all steps").click()
    assert drawn(page, "Mean reward")["y"] == [-0.02, 1.02] and page.complaints == []


def test_the_legend_switches_lines_and_metrics_are_chosen(report, new_page):
    page = ready(new_page(), report.as_uri())
    assert set(drawn(page, "Mean reward")["lines"]) == {"static", "cooper"}
    static = page.locator("#legend").get_by_role("button", name="static")
    static.press("Enter")
    assert static.get_attribute("aria-pressed") == "false"
    for title in ("Mean reward", "Completion length"):
        assert set(drawn(page, title)["lines"]) == {"cooper"}
    assert "static" not in chart(page, "Mean reward").get_by_role("img").get_attribute("aria-label")
    static.click()
    assert set(drawn(page, "Mean reward")["lines"]) == {"static", "cooper"}
    page.get_by_text("Choose metrics").click()
    assert "Loss" in page.locator(".pick p").text_content()  # it was not measured
    page.locator("input[value=reward]").uncheck()
    assert page.get_by_role("heading", name="Mean reward", exact=True).count() == 0
    page.locator("input[value='hacking/alarm']").check()
    assert drawn(page, "hacking/alarm")["lines"] == {"static": [0, 0, 1, 1], "cooper": [0, 0, 0, 0]}
    assert page.complaints == []


def test_seeds_are_a_mean_with_a_band_or_lines_of_their_own(tmp_path, new_page):
    runs = [with_measurements(write_run(tmp_path / f"cooper-{s}", 4, 2, "cooper"), False, s) for s in (0, 1)]
    page = ready(new_page(), write_report(runs, tmp_path / "report.html").as_uri())
    assert drawn(page, "Mean reward")["lines"] == {"cooper": pytest.approx([0.3, 0.55, 0.8, 1.05])}
    band = chart(page, "Mean reward").locator(".chart").evaluate("each => each.data[0].y")
    assert band == pytest.approx([0.35, 0.6, 0.85, 1.1, 1.0, 0.75, 0.5, 0.25])  # there and back
    page.select_option("#lines", "run")
    found = drawn(page, "Mean reward")["lines"]
    assert found == {"cooper, seed 0": [0.25, 0.5, 0.75, 1], "cooper, seed 1": [0.35, 0.6, 0.85, 1.1]}
    assert page.locator("#smooth").input_value() == "1"  # off
    page.select_option("#smooth", "5")
    assert drawn(page, "Mean reward")["lines"]["cooper, seed 0"] == pytest.approx([0.25, 0.375, 0.5, 0.625])
    assert drawn(page, "True accuracy")["lines"]["cooper, seed 0"] == [0.1, 0.2, 0.3, 0.4]  # held-out: as measured
    name, text = saved(page, page.get_by_role("button", name="Mean reward as csv"))
    rows = list(csv.reader(io.StringIO(text)))
    assert name == "Mean-reward.csv" and rows[:2] == [["step", *found], ["1", "0.25", "0.35"]]  # as measured
    name, text = saved(page, page.get_by_role("button", name="all metrics of all runs as csv"))
    assert ["cooper, seed 1", "cooper", "4", "reward", "1.1", "", ""] in list(csv.reader(io.StringIO(text)))
    name, text = saved(page, page.get_by_role("button", name="Mean reward as svg"))
    picture = "".join(ElementTree.fromstring(text).itertext())
    assert name == "Mean-reward.svg" and "cooper, seed 1" in picture and "Mean reward (reward" in picture
    assert page.complaints == []


def test_the_charts_are_used_with_the_keyboard(report, new_page):
    page = ready(new_page(), report.as_uri())
    plot = chart(page, "Mean reward")
    plot.get_by_role("img").focus()
    reading = plot.locator("[aria-live]")
    page.keyboard.press("ArrowRight")
    assert reading.text_content() == "step 1; static 0.250; cooper 0.250"
    page.keyboard.press("End")
    assert reading.text_content() == "step 4; static 1.000; cooper 1.000"
    plot.locator(".hoverlayer", has_text="step 4").wait_for(state="attached")
    page.keyboard.press("+")
    assert drawn(page, "Mean reward")["x"] == [3.25, 4]
    page.keyboard.press("Escape")
    assert drawn(page, "Mean reward")["y"] == [-0.02, 1.02]
    page.locator("#legend button").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "cooper"


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
    page.locator("#second button", has_text="next page").click()
    page.wait_for_selector('#second >> text="21 to 40 of 60"')
    assert status(page).text_content() == "1 to 20 of 60"
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(OVERFLOWING) == [0, []]


@pytest.fixture
def two_sources(tmp_path):
    """A run of four steps. A problem of the source `sums` is asked in the first and the last one, the others once."""
    folder = write_run(tmp_path / "run", 4, 1)
    for step in range(1, 5):
        again = step in (1, 4)
        records = [
            {"question": "Sum?" if again else f"Sum {step}?", "problem_id": f"sums-{step}", "verdict": "CORRECT"},
            {"question": f"Day {step}?", "problem_id": f"days-7-{step}", "verdict": "TIMEOUT"},
        ]
        rest = {"step": step, "reference_answer": "3", "reward": 1.0, "reason": "match", "score": 0.9}
        lines = [json.dumps({**rest, **record, "completion": f"it is {step}\u202e3\u2066"}) for record in records]
        (folder / "rollouts" / f"step_{step:06d}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_rollouts_by_verdict_and_source_and_before_and_after(two_sources, tmp_path, new_page):
    report = write_report([two_sources], tmp_path / "report.html")
    page = ready(new_page(viewport={"width": 1280, "height": 844}), report.as_uri())
    page.select_option("#step", "all")
    page.select_option("#verdict", "TIMEOUT")
    page.wait_for_selector('text="1 to 4 of 4"')
    assert page.locator("#first article > div:first-child").all_text_contents() == [f"Day {s}?" for s in (1, 2, 3, 4)]
    page.select_option("#verdict", "all")
    page.select_option("#source", "sums")
    page.wait_for_selector("text=Sum 2?")
    assert page.locator("#first article").count() == 4 and page.locator("article", has_text="Day").count() == 0
    page.locator("#first article", has_text="Sum?").first.get_by_role("button", name="before and after").click()
    page.wait_for_selector("#second article")
    assert "One problem, asked in 2 steps" in page.text_content("#only")
    sides = [page.locator(f"#{side} article pre").all_text_contents() for side in ("first", "second")]
    assert [side[0][:7] for side in sides] == ["it is 1", "it is 4"]
    left, right = (page.locator(f"#{name}").bounding_box() for name in ("first", "second"))
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    page.get_by_role("button", name="all problems").click()
    page.locator("#first article", has_text="Day 2?").get_by_role("button", name="before and after").click()
    page.wait_for_selector("text=asked in one step only. Shown: the problems of days")
    page.wait_for_selector("#second article >> text=Day 4?")
    questions = [page.locator(f"#{side} article > div:first-child").all_text_contents() for side in ("first", "second")]
    assert questions == [[f"Day {s}?" for s in (1, 2, 3, 4)], [f"Day {s}?" for s in (4, 3, 2, 1)]]
    page.get_by_role("button", name="all problems").click()
    page.get_by_role("button", name="first and last step").click()
    page.wait_for_selector("#second article >> text=step 4, rollout 1 ")
    assert page.locator("#first article").first.text_content().count("step 1, rollout 1 ") == 1
    assert page.complaints == []


def test_a_held_out_problem_before_and_after(tmp_path, new_page, background):
    folder = with_measurements(write_run(tmp_path / "run", 4, 1))
    (folder / "heldout").mkdir()
    for step in (0, 2, 4):
        answers = [
            {
                "step": step,
                "problem_id": f"days-{number}",
                "question": f"Day {number}?",
                "reference_answer": "Friday",
                "completion": f"after {step} steps: {HOSTILE[1]}",
                "verdict": "CORRECT" if step else "UNPARSEABLE",
                "solved": (None, False, True)[number] if step else False,
            }
            for number in range(3)
        ]
        lines = "".join(json.dumps(answer) + "\n" for answer in answers)
        (folder / "heldout" / f"step_{step:06d}.jsonl").write_text(lines)
    report = write_report([folder], tmp_path / "report.html")
    page = ready(new_page(viewport={"width": 1280, "height": 844}), report.as_uri())
    page.select_option("#run", label="static, seed 0, held-out problems")
    page.wait_for_selector('text="1 to 3 of 3"')
    said = page.locator("#first article > .muted").all_text_contents()
    assert [text.split(" · ")[3] for text in said] == ["no scorer", "not solved", "solved"]
    page.locator("#first article", has_text="Day 2?").get_by_role("button", name="before and after").click()
    page.wait_for_selector("#second article")
    assert "One problem, asked in 3 steps" in page.text_content("#only")
    sides = [page.locator(f"#{side} article > .muted").all_text_contents() for side in ("first", "second")]
    assert [[text.split(" · ")[0] for text in side] for side in sides] == [
        [f"step {step}, rollout 3" for step in steps] for steps in ((0, 2, 4), (4, 2, 0))
    ]
    assert "not solved" in sides[0][0] and "not solved" not in sides[1][0] and page.complaints == []
    server, live = background(Monitor(folder)), new_page()
    live.goto(f"{server.url}#static-seed0-heldout/2/3")
    live.wait_for_selector(".aim")
    assert "step 2, rollout 3" in live.locator(".aim").text_content() and live.input_value("#kind") == "heldout"
    assert live.locator(".aim pre").text_content() == f"after 2 steps: {HOSTILE[1]}" and live.complaints == []


def test_marks_that_turn_text_are_shown(two_sources, tmp_path, new_page, background):
    pages = [ready(new_page(), write_report([two_sources], tmp_path / "report.html").as_uri()), new_page()]
    pages[1].goto(background(Monitor(two_sources)).url)
    for page in pages:
        page.wait_for_selector(".rollout pre")
        assert page.locator(".rollout pre").first.text_content() == "it is 4\\u202e3\\u2066"
        assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", page.locator("main").inner_text())


def test_hostile_names_stay_text_in_the_charts(tmp_path, new_page):
    folder = with_measurements(write_run(tmp_path / "run", 4, 3, f"<b>x</b>{HOSTILE[1]}\u202e"))
    page = ready(new_page(), write_report([folder], tmp_path / "report.html").as_uri())
    plot = chart(page, "Mean reward")
    plot.locator(".nsewdrag").first.hover()
    plot.locator(".hoverlayer", has_text="<b>x</b></pre></details><img src=x").wait_for(state="attached")
    assert page.locator("#legend button").text_content().startswith("<b>x</b>")
    assert page.locator("#legend button").text_content().endswith("\\u202e")
    _, text = saved(page, page.get_by_role("button", name="Mean reward as svg"))
    assert "<img" not in text and "onerror" in "".join(ElementTree.fromstring(text).itertext())
    assert page.title() == "Cooper report" and page.complaints == [] and page.locator("main img").count() == 0


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
    assert drawn(page, "Mean reward")["lines"] == {"static": [0.25, 0.5, 0.75, 1]}
    page.fill("#from", "2")
    page.locator("#from").press("Enter")
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
    chart(page, "Mean reward").locator("[aria-label*='at step 5']").wait_for(timeout=15_000)
    assert drawn(page, "Mean reward")["x"] == [2, 4]  # and keeps what was chosen
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
