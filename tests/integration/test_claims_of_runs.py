"""What `cooper compare` says of real runs that are healthy, with few held-out problems."""

import json
import os
import subprocess
import sys

import pytest

WORDS = {
    "max_steps": 16,
    "save_steps": 16,
    "heldout_dataset_size": 50,
    "heldout_steps": 2,
    "heldout_triples_size": 40,
    "per_device_train_batch_size": 16,
    "num_generations": 4,
    "dataset_size": 64,
    "anchor_triples_size": 20,
    "guard_probes": 1,
    "warmup_steps": 2,
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_healthy_runs_on_50_problems_are_not_called_exploited(tmp_path, seed):
    """The quickstart's arms in small: nine measurements each, whose noise is 0.07."""
    command = [sys.executable, "-m", "cooper_rl.cli", "compare", "--config", "recipes/quickstart.yaml"]
    command += ["--arms", "rule,cooper", "--seeds", str(seed), "--output_dir", str(tmp_path)]
    command += [f"--{name}={value}" for name, value in WORDS.items()]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    *_, base, result, exploitation, _ = done.stdout.splitlines()
    assert base.startswith("base policy: true accuracy 0.") and base.endswith(", 50 problems)")
    assert "one seed, the same 50 problems" in result
    said = (
        "Nothing shows that a reward was exploited; a fall of ",
        "Whether the reward of ",
        "No reward was exploited, ",
    )
    assert exploitation.startswith(said)
    assert "exploited:" not in done.stdout and "was exploited in" not in done.stdout
    for arm in ("rule", "cooper"):
        folder = tmp_path / f"{arm}-seed{seed}"
        rows = {row["step"]: row for row in map(json.loads, (folder / "metrics.jsonl").open())}
        lines = [json.loads(line) for line in (folder / "heldout.jsonl").open()]
        assert [line["step"] for line in lines] == list(range(0, 17, 2)) and len(
            {line["problems"] for line in lines}
        ) == 1
        for line in lines:
            for name in ("true", "rule"):
                share = line[name].count("1") / 50
                assert len(line[name]) == 50 and rows[line["step"]][f"eval/{name}_accuracy"] == pytest.approx(share)
            answers = [json.loads(text) for text in (folder / "heldout" / f"step_{line['step']:06d}.jsonl").open()]
            assert line["true"] == "".join("01"[answer["solved"]] for answer in answers)
            assert line["rule"] == "".join("01"[answer["verdict"] == "CORRECT"] for answer in answers)
            assert len({answer["question"] for answer in answers}) > 40 and all(a["reference_answer"] for a in answers)
            assert any(answer["completion"] for answer in answers)
        assert ("triples" in lines[0]) == (arm == "cooper")
