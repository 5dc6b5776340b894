"""`compare` with a stand-in for `cooper train` that writes a run's files: what is run, again, on; one that fails."""

import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch
import yaml
from rich.console import Console
from rich.progress import Progress
from typer.testing import CliRunner

from cooper_rl.cli import app
from cooper_rl.cli.compare import Job, compare, free_device
from cooper_rl.cli.console import columns_for, print_rows
from cooper_rl.cli.progress import Course, Display
from cooper_rl.cli.running import report_interruption
from cooper_rl.errors import BadInputError, CooperError

FAKE = """
import json, os, pathlib, sys, time
words = sys.argv[1:]
settings, flags = {}, [w for w in words if w == "--resume"]
words = [w for w in words if w != "--resume"]
while words:
    word = words.pop(0)
    if "=" in word:
        key, value = word[2:].split("=", 1)
    else:
        key, value = word[2:], words.pop(0)
    settings[key] = value
folder = pathlib.Path(settings["output_dir"])
with (folder / "calls").open("a") as calls, (folder.parent / "order").open("a") as order:
    order.write(folder.name + "\\n")
    seen = os.environ["OMP_NUM_THREADS"], os.environ.get("CUDA_VISIBLE_DEVICES")
    calls.write(json.dumps([settings, flags, *seen]) + "\\n")
variant = settings.get("variant")
arm, seed = settings.get("arm", "cooper"), int(settings["seed"])
settled = {"arm": arm, "variant": variant, "seed": seed, "max_steps": 20, "heldout_dataset_size": 100}
(folder / "config.yaml").write_text(json.dumps(settled))
if (folder / "fail").exists():
    (folder / "fail").unlink()
    sys.exit("no luck with " + arm)
rows = [{"step": s, "reward": s / 20, "accuracy/rule": 0.5, "eval/true_accuracy": 0.25 + s / 100} for s in range(21)]
rows[0].pop("reward")
(folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\\n" for r in rows))
(folder / "finished.json").write_text(json.dumps({"step": int(settings.get("max_steps", 20))}))
"""


@pytest.fixture
def run(tmp_path):
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    out = tmp_path / "out"

    def start(arms=("rule", "static"), seeds=(0, 1), overrides=None, variants=(), jobs=2, max_steps=None):
        return compare(
            Path("recipe.yaml"),
            overrides or {},
            arms=arms,
            seeds=seeds,
            output_dir=out,
            variants=variants,
            max_steps=max_steps or {},
            jobs=jobs,
            train_command=(sys.executable, str(script)),
        )

    return out, start


def calls(folder):
    return [json.loads(line) for line in (folder / "calls").read_text().splitlines()]


def test_runs_of_another_recipe_are_not_taken_for_this_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text("reward_model_name_or_path: nano\nlearning_rate: 0.1\n")
    folder = tmp_path / "runs" / "compare" / "rule-seed0"
    folder.mkdir(parents=True)
    (folder / "finished.json").write_text('{"step": 2}')
    (folder / "config.yaml").write_text("reward_model_name_or_path: nano\narm: rule\nseed: 0\nmax_steps: 2\n")
    words = ["compare", "--config", "recipe.yaml", "--arms", "rule"]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, BadInputError)
    assert str(done.exception).endswith(
        "rule-seed0: was made with learning_rate = 1e-06, not 0.1; choose another --output_dir"
    )


def test_summary_table_and_report(run, capsys):
    out, start = run
    summary = start(overrides={"negative_sources": {"mined": 2}, "max_steps": 20})
    assert summary == json.loads((out / "summary.json").read_text())
    assert summary["base"]["true_accuracy"] == pytest.approx(0.25)
    entry = summary["arms"]["static"][1]
    assert entry["seed"] == 1 and entry["true_accuracy"] == {"peak": 0.45, "end": 0.45}
    assert entry["reward"]["start"] == pytest.approx(0.075) and entry["reward"]["end"] == pytest.approx(0.975)
    assert entry["reward_model_accuracy"] == {"start": None, "min": None, "end": None}
    assert (out / "report.html").is_file()
    shown = capsys.readouterr().out
    assert "static" in shown and "base policy: true accuracy 0.250" in shown
    *_, result, exploitation, place = shown.splitlines()
    assert result.startswith("Rule and static cannot be told apart: true accuracy 0.450 and 0.450, difference +0.000 ")
    assert exploitation == (
        "The frozen reward model pays wrong completions too (reward 0.97, true accuracy 0.45); a fall of 0.23 would be "
        "missed with 100 problems."
    )
    assert place.startswith(f"Open {out}/report.html for the curves")
    settings, flags, threads, _ = calls(out / "rule-seed1")[0]
    assert flags == [] and threads == "1" and settings["seed"] == "1" and settings["config"] == "recipe.yaml"
    assert yaml.safe_load(settings["negative_sources"]) == {"mined": 2}


def test_a_failed_run_leaves_the_others_and_is_resumed(run):
    out, start = run
    (out / "static-seed0").mkdir(parents=True)
    (out / "static-seed0" / "fail").touch()
    with pytest.raises(CooperError, match=r"static seed 0 failed; .*train\.log ends: no luck with static"):
        start()
    assert set(json.loads((out / "summary.json").read_text())["arms"]) == {"rule", "static"}
    start()
    assert [flags for _, flags, *_ in calls(out / "static-seed0")] == [[], ["--resume"]]
    assert len(calls(out / "rule-seed0")) == 1  # finished before, not run again


def test_the_same_problems_in_each_arm(run):
    out, start = run
    start(overrides={"dataset_seed": 3})
    sent = [calls(out / f"{arm}-seed0")[0][0] for arm in ("rule", "static")]
    for settings in sent:
        for key in ("arm", "output_dir"):
            settings.pop(key)
    assert sent[0] == sent[1] and sent[0]["dataset_seed"] == "3"


def test_the_engine_is_handed_on(monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr("cooper_rl.cli.compare.compare", lambda *_, **options: given.update(options))
    words = ["--config", "recipes/quickstart.yaml", "--arms", "rule", "--engine", "plain"]
    done = CliRunner().invoke(app, ["compare", *words, "--output_dir", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert given["train_command"][-3:] == ("train", "--engine", "plain") and given["arms"] == ["rule"]


def test_the_longest_runs_start_first_and_the_table_keeps_the_order_asked_for(run):
    out, start = run
    summary = start(arms=("rule", "static", "cooper"), jobs=1)
    assert (out / "order").read_text().split() == [
        f"{arm}-seed{seed}" for arm in ("cooper", "static", "rule") for seed in (0, 1)
    ]
    assert list(summary["arms"]) == ["rule", "static", "cooper"]


def test_a_finished_run_goes_on_where_it_is_to_have_more_steps(run):
    out, start = run
    start(arms=("rule", "static"), seeds=(0,), overrides={"max_steps": 20}, max_steps={"rule": 20, "static": 20})
    start(arms=("rule", "static"), seeds=(0,), overrides={"max_steps": 30}, max_steps={"rule": 30, "static": 20})
    assert [flags for _, flags, *_ in calls(out / "rule-seed0")] == [[], ["--resume"]]
    assert len(calls(out / "static-seed0")) == 1


def test_arms_beside_variants(run):
    out, start = run
    start(arms=("noise-0", "static"), variants=("noise-0",), seeds=(0,))
    chosen = [next(iter(calls(out / f"{name}-seed0")))[0] for name in ("noise-0", "static")]
    assert [settings.get("variant") for settings in chosen] == ["noise-0", None] and chosen[1]["arm"] == "static"


def test_variants_are_compared_by_name(run):
    out, start = run
    summary = start(arms=("noise-0", "noise-40"), variants=("noise-0", "noise-40"))
    assert {name: [entry["seed"] for entry in entries] for name, entries in summary["arms"].items()} == {
        "noise-0": [0, 1],
        "noise-40": [0, 1],
    }
    ((settings, *_),) = calls(out / "noise-40-seed1")
    assert settings["variant"] == "noise-40" and "arm" not in settings
    page = (out / "report.html").read_text()
    assert "0.45±0.10 (noise-40)" in page and 'id="charts-data"' in page


def test_without_a_terminal_a_line_after_each_tenth(run, capfd):
    run[1](arms=("static", "cooper"), seeds=(0,))
    lines = capfd.readouterr().err.splitlines()
    assert lines[:3] == [
        "Each arm trains the same policy on the same problems; the reward is",
        "  static  a frozen reward model",
        "  cooper  a reward model that is trained along with the policy",
    ]
    assert sorted(lines[3:]) == [
        f"{arm}: step 20 of 20, reward 0.15 → 0.90, true accuracy 0.25 → 0.45, done" for arm in ("cooper", "static")
    ]


def metrics(folder, rows, torn=""):
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text("max_steps: 60\n")
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + torn)


def test_the_course_of_a_run(tmp_path):
    course, now = Course(tmp_path / "run"), [100.0]
    course.clock = lambda: now[0]
    assert not course.look() and course.note() == course.tell_left() == ""
    rows = [{"step": 0, "eval/true_accuracy": 0.4}]
    metrics(tmp_path / "run", rows, torn='{"step": 1, "rew')
    assert course.look() and course.note() == "true accuracy 0.40 → 0.40" and course.tell_left() == ""
    rows += [{"step": step, "reward": step / 10} for step in range(1, 11)]
    metrics(tmp_path / "run", rows)
    now[0] = 120.0
    assert course.look() and not course.look()
    # the means of rewards 0.1 to 0.5 and 0.6 to 1.0; 10 steps took 20 seconds, so 50 take 100
    assert course.note() == "reward 0.30 → 0.80, true accuracy 0.40 → 0.40" and course.tell_left() == "1:40 left"
    metrics(tmp_path / "run", rows[:5])  # resumed: cut back to its checkpoint
    assert course.look() and course.step == 4 and course.tell_left() == ""


class Watch:
    ended = False

    def __init__(self, folder):
        self.name, self.folder = folder.name, folder

    def has_finished(self):
        return self.ended

    def has_failed(self):
        return False


@pytest.mark.parametrize("width", [80, 60, 40])
def test_a_terminal_shows_a_line_a_run_with_whole_words(tmp_path, width):
    run, screen = Watch(tmp_path / "cooper seed 0"), io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, color_system=None)
    with Display([run, Watch(tmp_path / "cooper seed 1")], ["cooper"], console) as display:
        display.show_start(run)
        metrics(run.folder, [{"step": step, "reward": 0.5, "eval/true_accuracy": 0.4} for step in range(2)])
        display.show(run)
        display.courses[run.name].clock = lambda: display.courses[run.name].began[0] + 1000.0
        metrics(run.folder, [{"step": step, "reward": 0.5, "eval/true_accuracy": 0.4} for step in range(31)])
        display.show(run)
        display.progress.refresh()
        told = {
            80: "30/60 reward 0.50→0.50, true 0.40→0.40, 17:14 left",  # 1000 s for 29 steps
            60: "cooper seed 0 30/60 reward 0.50, true 0.40, 17:14 left",
            40: "cooper seed 0 30/60 17:14 left",
        }
        assert told[width] in screen.getvalue()
        run.ended = True
        display.show(run)
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", screen.getvalue()))
    assert re.search(r"true (0\.40→)?0\.40, done", screen.getvalue()) and max(map(len, lines)) <= width
    said = " ".join(" ".join(lines).split())
    assert "cooper a reward model that is trained along with the policy" in said  # no word of it is broken


@pytest.mark.parametrize("width", [120, 50])
def test_a_table_that_is_too_wide_is_turned(width):
    screen = io.StringIO()
    header = ["arm", *(f"measure number {i}" for i in range(5))]
    print_rows([header, ["rule", *"12345"], ["static", *"67890"]], Console(file=screen, width=width))
    lines = [re.split("[┃│]", line)[1:-1] for line in screen.getvalue().splitlines() if "┃" in line or "│" in line]
    cells = [[cell.strip() for cell in line] for line in lines]
    wide = [header, ["rule", *"12345"], ["static", *"67890"]]
    assert cells == (wide if width == 120 else [list(column) for column in zip(*wide, strict=True)])


def test_a_table_that_is_too_wide_even_so_becomes_several():
    screen = io.StringIO()
    rows = [["arm", "measure number 1", "measure number 2"], *([f"arm {i}", "0.1", "0.2"] for i in range(5))]
    print_rows(rows, Console(file=screen, width=45))
    lines = [re.split("[┃│]", line)[1:-1] for line in screen.getvalue().splitlines() if "┃" in line or "│" in line]
    cells = [[cell.strip() for cell in line] for line in lines]
    assert cells[:2] == [["arm", "arm 0", "arm 1", "arm 2"], ["measure number 1", "0.1", "0.1", "0.1"]]
    assert cells[3:5] == [["arm", "arm 3", "arm 4"], ["measure number 1", "0.1", "0.1"]] and len(cells) == 6


@pytest.mark.parametrize("width", [60, 100])
def test_a_progress_line_has_whole_numbers(width):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, color_system=None)
    with Progress(*columns_for(console), console=console) as progress:
        progress.update(progress.add_task("annotate: the judge's turn"), total=123456, completed=100000)
        progress.refresh()
    assert "100000/123456" in screen.getvalue() and "…" not in screen.getvalue()
    assert ("━" in screen.getvalue()) == (width == 100)


def test_ctrl_c_ends_with_the_command_that_goes_on(tmp_path):
    recipe = Path(__file__).parents[2] / "recipes" / "quickstart.yaml"
    words = ["compare", "--config", str(recipe), "--arms", "rule", "--output_dir", str(tmp_path / "a b")]
    process = subprocess.Popen(
        [sys.executable, "-m", "cooper_rl.cli", *words],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a shell's background jobs ignore
    )
    assert "Each arm trains" in process.stderr.readline()
    while not (tmp_path / "a b" / "rule-seed0" / "train.log").is_file():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == f"cooper: interrupted; to go on: {shlex.join(['cooper', *words])}"


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("train --config r.yaml --max_steps 4", "; to go on: cooper train --config r.yaml --max_steps 4 --resume"),
        ("train --resume --config r.yaml", "; to go on: cooper train --resume --config r.yaml"),
        ("verify answers.jsonl", ""),
        ("verify answers.jsonl --output o.jsonl", "; to go on: cooper verify answers.jsonl --output o.jsonl --resume"),
        ("monitor run", ""),
    ],
)
def test_what_goes_on_after_an_interrupt(capsys, words, advice):
    assert report_interruption(words.split(), 130) == 130
    assert capsys.readouterr().err == f"cooper: interrupted{advice}\n"


@pytest.mark.parametrize("terminal", [False, True])
def test_bars_of_libraries_are_drawn_on_a_terminal_alone(terminal):
    code = "import cooper_rl.cli; from transformers.utils import logging; list(logging.tqdm(range(3), desc='Loading'))"
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    termios.tcsetwinsize(slave, (24, 80))
    environment = {
        key: value for key, value in os.environ.items() if not key.endswith(("TQDM_DISABLE", "PROGRESS_BARS"))
    }
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=slave if terminal else subprocess.PIPE, text=True, env=environment
    )
    errors = process.communicate(timeout=120)[1] or ""
    if terminal:
        errors = os.read(master, 10_000).decode()
    os.close(slave)
    os.close(master)
    assert process.returncode == 0 and ("Loading" in errors) == terminal


def test_its_runs_end_with_it(tmp_path):
    """A real process is ended by SIGTERM while its run, which never ends by itself, is going on."""
    (tmp_path / "endless.py").write_text(
        "import os, pathlib, sys, time\n"
        "folder = pathlib.Path(sys.argv[sys.argv.index('--output_dir') + 1])\n"
        "(folder / 'process').write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    (tmp_path / "program.py").write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from cooper_rl.cli.compare import compare\n"
        f"compare(Path('r.yaml'), {{}}, arms=['rule'], seeds=[0], output_dir=Path({str(tmp_path / 'out')!r}),\n"
        f"        train_command=[sys.executable, {str(tmp_path / 'endless.py')!r}])\n"
    )
    program = subprocess.Popen([sys.executable, str(tmp_path / "program.py")], stderr=subprocess.DEVNULL)
    told = tmp_path / "out" / "rule-seed0" / "process"
    deadline = time.monotonic() + 60
    while not (told.is_file() and told.read_text()):
        assert program.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    program.terminate()
    assert program.wait(60) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_a_run_that_is_being_started_ends_with_it_too(run, tmp_path, monkeypatch):
    """The signal comes when the run's process is there and nobody has it in hand yet."""
    (tmp_path / "fake.py").write_text("import time\ntime.sleep(600)\n")
    begun = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *given, **settings):
            super().__init__(*given, **settings)
            begun.append(self.pid)
            os.kill(os.getpid(), signal.SIGTERM)  # a background job may ignore SIGINT

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit, match=str(128 + signal.SIGTERM)):
            run[1](arms=["rule", "static"], seeds=[0], jobs=1)
        assert len(begun) == 1 and signal.getsignal(signal.SIGTERM) is before
        with pytest.raises(ProcessLookupError):
            os.kill(begun[0], 0)
    finally:
        with suppress(ProcessLookupError):
            os.kill(begun[0], signal.SIGKILL)


@pytest.mark.parametrize(
    ("given", "count", "jobs", "expected"),
    [
        (None, 2, None, {"0", "1"}),
        ("4,6,7", 2, None, {"4", "6"}),  # torch sees two of those that are named
        ("5", 1, 2, {"5"}),
        (None, 0, None, {None}),
        ("", 0, None, {""}),
    ],
)
def test_each_run_sees_a_gpu_of_its_own(run, monkeypatch, given, count, jobs, expected):
    out, start = run
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if given is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    start(arms=("rule", "static"), seeds=(0, 1), jobs=jobs)
    seen = {calls(out / f"{arm}-seed{seed}")[0][3] for arm in ("rule", "static") for seed in (0, 1)}
    assert seen == expected


def test_a_run_takes_the_gpu_that_has_become_free():
    jobs = [Job("rule", seed, Path(), "rule", device=device) for seed, device in enumerate("0012")]
    assert free_device("0123", jobs) == "3"
    assert free_device("012", [jobs[0], jobs[3]]) == "1"
    assert free_device("01", jobs) == "1", "the one with the fewest runs"
    assert free_device([], jobs) is None
