"""How long a report and a live page of a run with 200,000 rollouts take to open in a browser (Debian's chromium).

    python benchmarks/bench_report.py [--rollouts 200000] [--a_step 64] [--turns 3]

Makes up a run with worked solutions of some 420 characters, then prints for the report and for the live page:

- first screen: from the address to the browser's first contentful paint, in a new browser each turn;
- open: from the address to the first 20 rollouts, in the same browser;
- link: the same for the address of one rollout in the middle of the run;
- search: from the last key to the number of rollouts with a text that is in one of 1,000, over all steps.

Each figure is the median of the turns, with the least and the greatest. `open, processor` is the processor time of the
page's process until then, which other work on the machine does not lengthen much; the load is printed with it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from cooper_rl.report.live import Monitor
from cooper_rl.report.write import write_report

RARE = "a thousandth"  # the text that is searched
VERDICTS = (("CORRECT", "match"), ("INCORRECT", "mismatch"), ("UNPARSEABLE", "no_answer"))
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"  # milliseconds
STATE = "body[data-state=ready], body[data-state=live]"


def rollout(step: int, number: int, rng: random.Random) -> dict[str, object]:
    """A made-up rollout."""
    price, count, paid = rng.randrange(2, 90), rng.randrange(3, 40), rng.randrange(4000, 9000)
    question = (
        f"A crate has {count} jars and each jar costs {price} coins. Ana pays {paid} coins. What does she get back?"
    )
    lines = [
        f"There are {count} jars, and each costs {price} coins, so together they cost {count} * {price} coins.",
        f"{count} * {price} = {count * price}. Ana pays {paid} coins, which is more than enough.",
        f"She gets back what is left: {paid} - {count * price} = {paid - count * price} coins.",
        f"So the answer is \\boxed{{{paid - count * price}}}.",
    ]
    verdict, reason = VERDICTS[rng.randrange(3)]
    completion = "\n".join(lines + [f"This is {RARE} of it."] * (number % 1000 == 0))
    score = rng.random()
    texts = {"question": question, "reference_answer": str(paid - count * price), "completion": completion}
    return {"step": step, **texts, "verdict": verdict, "reason": reason, "score": score, "reward": score}


def make_run(folder: Path, rollouts: int, a_step: int) -> Path:
    """A run folder with so many rollouts."""
    rng = random.Random(0)
    (folder / "rollouts").mkdir(parents=True)
    steps = -(-rollouts // a_step)
    (folder / "config.yaml").write_text(json.dumps({"arm": "cooper", "seed": 0, "max_steps": steps}))
    rows = [{"step": s, "reward": s / steps, "accuracy/rule": 0.5, "hacking/alarm": 0.0} for s in range(1, steps + 1)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for step in range(1, steps + 1):
        numbers = range((step - 1) * a_step, min(rollouts, step * a_step))
        lines = (json.dumps(rollout(step, number, rng), ensure_ascii=False) + "\n" for number in numbers)
        (folder / "rollouts" / f"step_{step:06d}.jsonl").write_text("".join(lines))
    return folder


def seconds(action: Callable[[], object]) -> float:
    """How long an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def opened(page: Page, address: str, selector: str) -> None:
    """Opens an address and waits for what it is to show."""
    page.goto(address, wait_until="commit")
    page.wait_for_selector(STATE, state="attached", timeout=60_000)
    page.wait_for_selector(selector, timeout=60_000)


def processor(page: Page) -> float:
    """The seconds of processor time that the page's process has used."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "ProcessTime"))


def searched(page: Page, found: int) -> None:
    """Types the rare text and waits for the number of rollouts that have it."""
    page.fill("#text", RARE)
    page.wait_for_selector(f'text="1 to 20 of {found}"', timeout=60_000)


def measured(address: str, middle: str, found: int, turns: int) -> dict[str, list[float]]:
    """The times of all turns, each in a new browser."""
    times: dict[str, list[float]] = {name: [] for name in ("first screen", "open", "open, processor", "search", "link")}
    with sync_playwright() as playwright:
        for _ in range(turns):
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page()
            times["open"].append(seconds(lambda page=page: opened(page, address, ".rollout >> nth=19")))
            times["first screen"].append(page.evaluate(PAINTED) / 1000)
            times["open, processor"].append(processor(page))
            times["search"].append(seconds(lambda page=page: searched(page, found)))
            linked = browser.new_page()
            times["link"].append(seconds(lambda page=linked: opened(page, f"{address}#{middle}", ".aim")))
            browser.close()
    return times


def show(title: str, times: dict[str, list[float]]) -> None:
    """One line a figure."""
    for name, found in times.items():
        print(f"{title} {name}: {median(found):.2f} s ({min(found):.2f} to {max(found):.2f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rollouts", type=int, default=200_000)
    parser.add_argument("--a_step", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    middle = f"cooper-seed0/{max(1, asked.rollouts // asked.a_step // 2)}/1"
    found = len(range(0, asked.rollouts, 1000))
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_run(Path(scratch) / "run", asked.rollouts, asked.a_step)
        size = sum(path.stat().st_size for path in (folder / "rollouts").iterdir())
        report = Path(scratch) / "report.html"
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        written = seconds(lambda: write_report([folder], report))
        print(f"{asked.rollouts:,} rollouts, {size / 1e6:.0f} MB; report {report.stat().st_size / 1e6:.1f} MB")
        print(f"report written in {written:.1f} s", flush=True)
        show("report", measured(report.as_uri(), middle, found, asked.turns))
        with Monitor(folder) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            show("live page", measured(server.url, middle, found, asked.turns))
            server.shutdown()


if __name__ == "__main__":
    main()
