"""A pytest plugin for TRL's own tests: what of ours stands in their trainers, and a report of what came of it.

    pytest -p trl_suite --with lean --report report.json tests/test_grpo_trainer.py

`--with` names one of `WITH`. The report has the outcome of each test, the reason where it did not pass, and the tests
in which code of ours ran.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trl
from trl import GRPOConfig, GRPOTrainer, import_utils

REFERENCE = "4"  # the reference answer of every row: TRL's data sets have none
REWARD_MODEL = "nano"


class Reward:
    """A `CooperReward` for data sets without reference answers."""

    __name__ = "cooper"

    def __init__(self, reward: Any, on_call: Callable[[], None]) -> None:
        self.reward = reward
        self.on_call = on_call

    def __call__(self, prompts: list[Any], completions: list[Any], **columns: Any) -> list[float | None]:
        self.on_call()
        columns.setdefault("reference_answer", [REFERENCE] * len(completions))
        rewards: list[float | None] = self.reward(prompts, completions, **columns)
        return rewards


def make_reward(arm: str) -> Any:
    """The reward object, new for each trainer."""
    from cooper_rl import CooperReward, VerifyRM
    from cooper_rl.settings.files import resolve_model

    settings: dict[str, Any] = {"verifier": "exact", "verifier_workers": 1}
    if arm == "rule":
        return CooperReward(None, arm=arm, **settings)
    reward_model = VerifyRM.from_pretrained(resolve_model(REWARD_MODEL, "reward_model"))
    return CooperReward(reward_model, arm=arm, negative_sources={"perturb": 1, "mined": 1}, **settings)


def add_reward(on_call: Callable[[], None], arm: str) -> None:
    """Each trainer with reward functions gets a `CooperReward` behind them, with its callback, weight and tokenizer."""
    init = GRPOTrainer.__init__
    signature = inspect.signature(init)

    @functools.wraps(init)
    def with_reward(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs).arguments
        functions, settings = given.get("reward_funcs"), given.get("args")
        if functions is not None:
            cooper = make_reward(arm)
            given["reward_funcs"] = [*as_list(functions), Reward(cooper, on_call)]
            given["callbacks"] = [*(given.get("callbacks") or []), cooper.callback]
            cooper.callback.data_checked = True  # the reference answers come with the call
            if given.get("reward_processing_classes") is not None:
                given["reward_processing_classes"] = [*as_list(given["reward_processing_classes"]), None]
            if settings is not None and settings.reward_weights is not None:
                settings.reward_weights = [*settings.reward_weights, 1.0]
        init(**given)

    GRPOTrainer.__init__ = with_reward


def as_list(one_or_several: Any) -> list[Any]:
    return one_or_several if isinstance(one_or_several, list) else [one_or_several]


def swap_trainer(on_call: Callable[[], None]) -> None:
    """LeanGRPOTrainer in the place of GRPOTrainer.

    Gradient checkpointing is off unless a test asks for it, since it leaves the log-probabilities to TRL.
    """
    from cooper_rl.fast import lean

    trl.GRPOTrainer = lean.LeanGRPOTrainer
    init, logps = GRPOConfig.__init__, lean.completion_logps

    @functools.wraps(init)
    def without_checkpointing(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **{"gradient_checkpointing": False, **kwargs})

    def reached(*args: Any) -> Any:
        on_call()
        return logps(*args)

    GRPOConfig.__init__ = without_checkpointing
    lean.completion_logps = reached


WITH: dict[str, Callable[[Callable[[], None]], None]] = {
    "trl": lambda on_call: None,
    "lean": swap_trainer,
    "rule": functools.partial(add_reward, arm="rule"),
    "cooper": functools.partial(add_reward, arm="cooper"),
}


class Report:
    """Outcomes by test, without the name of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.test = ""
        self.outcomes: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.reached: set[str] = set()

    def on_call(self) -> None:
        self.reached.add(self.test)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.test = nodeid.partition("::")[2]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            worse = self.outcomes.get(self.test) == "failed"
            self.outcomes[self.test] = "failed" if worse else report.outcome
        self.seconds[self.test] = self.seconds.get(self.test, 0.0) + report.duration
        if report.outcome != "passed":
            crash = getattr(report.longrepr, "reprcrash", None)
            self.reasons[self.test] = crash.message if crash else str(report.longrepr)

    def pytest_sessionfinish(self) -> None:
        names = ("outcomes", "reasons", "seconds")
        found = {name: getattr(self, name) for name in names} | {"reached": sorted(self.reached)}
        self.path.write_text(json.dumps(found, indent=1))


def missing_package(name: str) -> Callable[[], bool]:
    """For `is_..._available` of a package that a checkout of another version asks about and the installed TRL not."""
    if not (name.startswith("is_") and name.endswith("_available")):
        raise AttributeError(name)
    return lambda: False


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--with", dest="part", choices=list(WITH), default="trl", help="what of ours is put in")
    parser.addoption("--report", type=Path, required=True, help="file for the report")


def pytest_configure(config: Any) -> None:
    # TRL asks for jmespath only where transformers is older than 5.13; its tests of tools ask for it always.
    import_utils.is_jmespath_available = lambda: True
    import_utils.__getattr__ = missing_package
    report = Report(config.getoption("report").absolute())
    config.pluginmanager.register(report, "report of TRL's tests")
    WITH[config.getoption("part")](report.on_call)
