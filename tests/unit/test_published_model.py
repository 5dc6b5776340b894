"""The published VerifyRM and its data as they are: no verifyrm.json, no pad token, parquet with integer labels."""

import json
import subprocess
import sys

import datasets
import pyarrow
import pyarrow.parquet
import pytest
import torch
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForSequenceClassification

from cooper_rl.errors import BackendError, BadInputError, MissingFileError
from cooper_rl.records import Triple
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.triples import read_triples
from rounding import logit_error
from studies.nano.triples import written_triples


def cooper(arguments):
    """What a command prints; it must end well."""
    done = subprocess.run([sys.executable, "-m", "cooper_rl.cli", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def checkpoint(tmp_path):
    """A folder in the shape of the released one: Qwen2 with a one-label head, saved without a pad token."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(resolve_model("nano", "reward_model"))
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_labels=1,
        max_position_embeddings=4096,
    )
    assert config.pad_token_id is None
    Qwen2ForSequenceClassification(config).save_pretrained(tmp_path / "released")
    tokenizer.save_pretrained(tmp_path / "released")
    return tmp_path / "released"


@pytest.fixture
def rows():
    """Records with the columns of the released data."""
    return [
        {
            "question": t["question"] or "What is it?",
            "reference_answer": t["reference"],
            "completion": t["completion"],
            "label": int(t["correct"]),
        }
        for t in written_triples("train", 40, 3)
    ]


@pytest.fixture
def parquet(rows, tmp_path):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "data.parquet")
    return tmp_path / "data.parquet"


@pytest.mark.numeric
def test_a_released_checkpoint_scores_in_company_as_alone(checkpoint, rows, caplog):
    reward_model = VerifyRM.from_pretrained(checkpoint)
    assert "no verifyrm.json; texts are read up to 4096 tokens" in caplog.text
    columns = [[row[name] for row in rows] for name in ("question", "reference_answer", "completion")]
    together = reward_model.score(*columns)
    alone = torch.cat([reward_model.score(*([field[i]] for field in columns)) for i in range(len(rows))])
    assert together.std() > 0 and (together - alone).abs().max() < logit_error(reward_model.model) / 4


def test_it_reads_a_long_completion_whole_and_what_it_saves_says_so(checkpoint, tmp_path):
    reward_model = VerifyRM.from_pretrained(checkpoint)
    long = " ".join(["1 + 1 = 2."] * 300) + " The answer is 2."
    (ids,) = reward_model.encode([Triple("What is 1 + 1?", "2", long)])
    assert 1024 < len(ids) < 4096
    reward_model.save_pretrained(tmp_path / "again")
    assert json.loads((tmp_path / "again" / "verifyrm.json").read_text())["max_tokens"] == 4096


@pytest.mark.slow  # 9 seconds
def test_it_can_be_trained_further_on_parquet(checkpoint, parquet, tmp_path):
    settings = ["--train_files", str(parquet), "--output_dir", str(tmp_path / "rm"), "--max_steps", "2"]
    cooper(["train-rm", "--model_name_or_path", str(checkpoint), *settings])
    assert VerifyRM.from_pretrained(tmp_path / "rm").model.config.pad_token_id is not None


@pytest.mark.slow
def test_labelled_parquet_in_every_command(parquet, rows, tmp_path):
    labels = [triple.correct for triple in read_triples(parquet)]
    assert labels == [bool(row["label"]) for row in rows]
    found = json.loads(cooper(["eval-rm", "--model", "nano", "--no-probes", "--json", str(parquet)]))
    assert found["files"][str(parquet)]["records"] == len(rows)
    out = tmp_path / "triples.jsonl"
    cooper(["annotate", "--input_files", str(parquet), "--output", str(out), "--decontaminate_against", "[]"])
    assert out.read_text().count("\n") > 10


def test_labelled_data_of_the_hub_by_its_id(rows, monkeypatch):
    asked = []

    def load(path, configuration, *, split, data_files):
        asked.append((path, configuration, split, data_files))
        return rows

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert len(read_triples("fiowhahf/VerifyRM_training_data")) == len(rows)
    assert asked == [("fiowhahf/VerifyRM_training_data", None, "train", None)]


def test_what_cannot_be_read_is_one_line(tmp_path, monkeypatch, rows):
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    with pytest.raises(BadInputError, match=r"bad.parquet: not a parquet file"):
        read_triples(tmp_path / "bad.parquet")
    with pytest.raises(MissingFileError, match=r"runs/none.parquet: no such file of labelled triples"):
        read_triples("runs/none.parquet")
    del rows[3]["completion"]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    with pytest.raises(BadInputError, match=r"rows.json record 4: field 'completion' is missing"):
        read_triples(tmp_path / "rows.json")

    def unreachable(*_, **__):
        raise OSError("no route")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(BackendError, match=r"owner/name: the hub cannot be read \(no route\)"):
        read_triples("owner/name")
