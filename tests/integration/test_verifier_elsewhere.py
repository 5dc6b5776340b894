"""The verifier in other programs, as examples/own-verifier shows it. Each runs where its package is at hand."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "own-verifier"
NEEDS = {"threads_and_asyncio": "", "verl_score": "", "trl_reward": "", "ray_actor": "ray", "lm_eval_filter": "lm_eval"}


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told_by(path):
    """What an example says that it prints."""
    return re.search(r"prints[^:]*:\s+(.+)", ast.get_docstring(ast.parse(path.read_text())), re.DOTALL)[1].strip()


@pytest.mark.parametrize(("name", "package"), NEEDS.items(), ids=NEEDS)
def test_each_prints_what_it_says(name, package):
    if package:
        pytest.importorskip(package)
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, timeout=240)
    assert done.stdout.strip() == told_by(EXAMPLES / f"{name}.py"), done.stderr


def test_each_is_short_and_listed():
    for name in NEEDS:
        assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 40, name
        assert f"({name}.py)" in (EXAMPLES / "README.md").read_text(), name


@pytest.mark.parametrize(
    ("answer", "truth", "score", "left_open"),
    [
        (r"\boxed{0.5}", "1/2", 1.0, 0.0),
        (r"\boxed{0.5}", ["7", "1/2"], 1.0, 0.0),
        (r"\boxed{0.7}", "1/2", 0.0, 0.0),
        ("I do not know.", "1/2", 0.0, 1.0),
    ],
)
def test_a_score_by_keywords_as_verl_asks(answer, truth, score, left_open):
    scores = example("verl_score")
    with scores.VERIFIER:
        found = scores.compute_score(
            data_source="x", solution_str=answer, ground_truth=truth, extra_info={"num_turns": 1}
        )
    assert found == {"score": score, "open": left_open}


def test_the_reward_function_in_grpo(tmp_path):
    trl = pytest.importorskip("trl")
    from datasets import Dataset

    from cooper_rl.settings.files import EMBEDDED

    rewards = example("trl_reward")
    rows = [{"prompt": [{"role": "user", "content": f"{i} + 1 ="}], "answer": str(i + 1)} for i in range(8)]
    args = trl.GRPOConfig(
        str(tmp_path),
        max_steps=2,
        num_generations=4,
        per_device_train_batch_size=8,
        max_completion_length=32,
        logging_steps=1,
        bf16=False,
        report_to="none",
    )
    trainer = trl.GRPOTrainer(
        str(EMBEDDED["nano"]["policy"]),
        reward_funcs=[rewards.correct],
        args=args,
        train_dataset=Dataset.from_list(rows),
    )
    with rewards.VERIFIER:
        trainer.train()
    logged = [row["rewards/correct/mean"] for row in trainer.state.log_history if "rewards/correct/mean" in row]
    assert len(logged) == 2 and all(0 <= mean <= 1 for mean in logged)


def test_what_was_not_judged_has_no_reward(monkeypatch):
    rewards = example("trl_reward")
    monkeypatch.setattr(rewards.VERIFIER, "deadline_seconds", 1.0)
    with rewards.VERIFIER:
        found = rewards.correct(["$5^{5^{5^{5^5}}}$", "The answer is 12.", "I do not know."], answer=["12"] * 3)
    assert found == [None, 1.0, 0.0]


def alive(process):
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().split()[2] != "Z"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_the_workers_end_with_their_actor():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, include_dashboard=False, logging_level="error", ignore_reinit_error=True)
    try:
        judge = example("ray_actor").Judge.remote(workers=1)
        many = [judge.judge.remote([str(i)] * 3, [f"\\boxed{{{i}}}"] * 3) for i in range(20)]
        assert ray.get(many) == [["CORRECT"] * 3] * 20
        pids = judge.__ray_call__.remote(lambda actor: [actor.verifier._slots.get().process.pid])
        (worker,) = ray.get(pids)
        assert alive(worker)
        ray.kill(judge)
        until = time.monotonic() + 20
        while alive(worker) and time.monotonic() < until:
            time.sleep(0.1)
        assert not alive(worker)
    finally:
        ray.shutdown()


TASK = """
task: halves
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/docs.jsonl}}}}
output_type: generate_until
test_split: test
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\n\\n"]}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
filter_list:
  - {{name: verified, filter: [{{function: !function lm_eval_filter.Verified}}, {{function: take_first}}]}}
  - {{name: plain, filter: [{{function: take_first}}]}}
"""
EVALUATED = """
import json, sys
import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

class Said(LM):
    loglikelihood = loglikelihood_rolling = None
    def generate_until(self, requests, disable_tqdm=False):
        return [r"It is \\boxed{0.5}." if "half" in each.args[0] else "It is 13." for each in requests]

manager = TaskManager(include_path=sys.argv[1], include_defaults=False)
found = lm_eval.simple_evaluate(Said(), tasks=["halves"], task_manager=manager, bootstrap_iters=0)
found = found["results"]["halves"].items()
print(json.dumps({key: float(value) for key, value in found if key.startswith("exact_match,")}))
"""


def test_the_filter_in_an_evaluation(tmp_path):
    pytest.importorskip("lm_eval")
    (tmp_path / "halves.yaml").write_text(TASK.format(folder=tmp_path))
    (tmp_path / "lm_eval_filter.py").write_text((EXAMPLES / "lm_eval_filter.py").read_text())
    docs = [{"question": "A half?", "answer": "1/2"}, {"question": "A dozen?", "answer": "12"}]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", EVALUATED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"exact_match,verified": 0.5, "exact_match,plain": 0.0}


def test_the_filter_is_registered_by_its_name():
    registry = pytest.importorskip("lm_eval.api.registry")
    module = example("lm_eval_filter")
    assert registry.get_filter("cooper") is module.Verified
    assert module.Verified("answer").apply([], []) == []
