"""Damaged files and model folders: one line that names them, and nothing that is wrong in silence."""

import gzip
import io
import json
import shutil

import pytest
from safetensors.torch import load_file, save_file

from cooper_rl.checkpoints import complete_checkpoint, last_checkpoint
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.process import evaluate_process
from cooper_rl.jsonl import open_input, records
from cooper_rl.records import LabelledCompletion
from cooper_rl.settings.files import EMBEDDED, base_of
from cooper_rl.settings.reward_model import AugmentationSettings, RewardModelTrainConfig
from cooper_rl.synthesis.augment import augment_triples
from cooper_rl.tables import read_table
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.train_rm import checkpoint_of, train_reward_model
from cooper_rl.verifyrm.triples import read_labelled, score_stream

NANO = EMBEDDED["nano"]["reward_model"]
GOOD = {"question": "1 + 1?", "reference": "2", "completion": "It is 2.", "correct": True}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "latin.jsonl",
            '{"a": 1}\n{"a": "caf\xe9"}\n'.encode("latin-1"),
            "latin.jsonl:2: not a text in UTF-8 (byte 0xe9)",
        ),
        (
            "latin.json",
            '[{"a": 1},\n{"a": "caf\xe9"}]'.encode("latin-1"),
            "latin.json:2: not a text in UTF-8 (byte 0xe9)",
        ),
        ("wide.jsonl", '{"a": 1}\n'.encode("utf-16"), "wide.jsonl:1: not a text in UTF-8 (byte 0xff)"),
        ("cut.jsonl.gz", gzip.compress(json.dumps(GOOD).encode() * 2000)[:-20], "cut.jsonl.gz: not a whole gzip file"),
        ("no.jsonl.gz", b"no gzip", "no.jsonl.gz: not a whole gzip file"),
        ("half.jsonl", b'{"question": "\\ud83d"}\n', "half.jsonl:1: not a text in UTF-8 (half of a character)"),
        ("digits.jsonl", b'{"question": ' + b"1" * 5000 + b"}\n", "digits.jsonl:1: not JSON (Exceeds the limit"),
        ("deep.jsonl", b"[" * 100_000 + b"\n", "deep.jsonl:1: not JSON ("),
        ("deep.json", b"[" * 100_000, "deep.json: not JSON ("),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInputError) as refused:
        list(read_table(tmp_path / name, "triples"))
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_text_of_any_language_is_read_compressed_or_not(tmp_path):
    record = {"question": "数 😀 é"}
    for name, opener in (("a.jsonl", open), ("a.jsonl.gz", gzip.open)):
        with opener(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=name.endswith(".gz")) + "\n")
        with open_input(tmp_path / name) as (lines, source):
            assert [found for _, found in records(lines, source)] == [record]


def test_a_bad_record_loses_none_before_it():
    lines, written = [*[json.dumps(GOOD)] * 5, "oops"], io.StringIO()
    with pytest.raises(BadInputError, match="<stdin>:6: not JSON"):
        score_stream(lines, written.write, VerifyRM.from_pretrained("nano"))
    assert len(written.getvalue().splitlines()) == 5


def copied(tmp_path):
    shutil.copytree(NANO, tmp_path / "model")
    return tmp_path / "model"


def without_head(folder):
    weights = load_file(folder / "model.safetensors")
    save_file({name: value for name, value in weights.items() if "score" not in name}, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without_head, "its weights lack score.weight"),
        (lambda folder: (folder / "verifyrm.json").write_text("{"), "not a VerifyRM's settings"),
        (lambda folder: (folder / "verifyrm.json").write_text('{"unknown": 1}'), "not a VerifyRM's settings"),
        (lambda folder: (folder / "verifyrm.json").write_text('{"template_version": 9}'), "needs template_version 1"),
        (lambda folder: (folder / "verifyrm.json").write_text('{"temperature": 0}'), "a temperature above 0"),
        (lambda folder: (folder / "config.json").unlink(), "cannot be loaded"),
        (lambda folder: (folder / "config.json").write_text("{"), "cannot be loaded"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"cut"), "cannot be loaded"),
    ],
)
def test_a_damaged_model_folder_is_refused(tmp_path, damage, message):
    folder = copied(tmp_path)
    damage(folder)
    with pytest.raises(BadInputError, match=message) as refused:
        VerifyRM.from_pretrained(folder)
    assert str(folder) in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("base", [None, "."])
def test_adapters_need_a_base_that_is_another_folder(tmp_path, base):
    (tmp_path / "adapters").mkdir()
    written = {} if base is None else {"base_model_name_or_path": str(tmp_path)}
    (tmp_path / "adapters" / "adapter_config.json").write_text(json.dumps(written))
    with pytest.raises(BadInputError, match="its adapters name no base model"):
        base_of(tmp_path)


def test_a_verifier_that_cannot_be_loaded_says_why():
    told = r"cannot be loaded in a worker process: .*no_such_module"
    with RuleVerifier("no_such_module:explain", workers=1) as verifier, pytest.raises(BadInputError, match=told):
        verifier.verify("1", "1")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"first_error": -1}, "first_error needs steps"),
        ({"first_error": True, "steps": ["It is 2."]}, "first_error is True"),
        ({"first_error": 0, "steps": ["It is 3."]}, "completion and steps differ"),
    ],
)
def test_a_first_error_needs_its_steps(fields, message):
    with pytest.raises(BadInputError, match=message):
        read_labelled({**GOOD, **fields}, "file:1")


def test_without_right_solutions_no_threshold_is_called_the_best():
    wrong = [read_labelled({**GOOD, "completion": "a\n\nb", "steps": ["a", "b"], "first_error": 0}, "f:1")] * 3
    found = evaluate_process(wrong, lambda triples, ends: [[0.1, 0.1]] * len(triples), samples=10)
    assert found["tuned_threshold"] == 0.5


def test_a_wrong_completion_is_not_repeated_without_what_made_it_wrong():
    several = LabelledCompletion("q", "5", r"First \boxed{6}. Then \boxed{5}.", False)
    slipped = LabelledCompletion("q", "5", r"2 + 2 = 5. So it is \boxed{5}.", False)
    plain = LabelledCompletion("q", "5", r"So it is \boxed{6}.", False)
    grown = augment_triples([several, slipped, plain], AugmentationSettings(augment_alone=1), seed=0)
    assert [(t.completion.strip("\\boxed{}"), t.correct) for t in grown[3:]] == [("6", False)]


@pytest.mark.parametrize("lost", ["optimizer.pt", "trainer_state.json", "model.safetensors"])
def test_training_resumes_from_the_newest_whole_checkpoint(tmp_path, lost):
    (tmp_path / "triples.jsonl").write_text("".join(json.dumps({**GOOD, "question": f"{n}?"}) + "\n" for n in range(8)))
    own = {"model_name_or_path": str(NANO), "train_files": [str(tmp_path / "triples.jsonl")], "save_steps": 1}
    own |= {"output_dir": str(tmp_path / "rm"), "per_device_train_batch_size": 4, "heldout_fraction": 0.0}
    train_reward_model(RewardModelTrainConfig(**own, max_steps=2))
    (tmp_path / "rm" / "checkpoint-2" / lost).unlink()
    (tmp_path / "rm" / "recipe.json").unlink()  # as if it had been killed before the model was saved
    assert last_checkpoint(tmp_path / "rm").name == "checkpoint-1"
    train_reward_model(RewardModelTrainConfig(**own, max_steps=2), resume=True)
    assert last_checkpoint(tmp_path / "rm").name == "checkpoint-2"


def test_what_a_verifyrm_keeps_is_what_its_card_says(tmp_path, caplog):
    (tmp_path / "triples.jsonl").write_text("".join(json.dumps({**GOOD, "question": f"{n}?"}) + "\n" for n in range(8)))
    files = [str(tmp_path / "triples.jsonl")]
    own = {"model_name_or_path": str(NANO), "train_files": files, "eval_files": files, "max_steps": 1}
    own |= {"output_dir": str(tmp_path / "rm"), "per_device_train_batch_size": 4, "max_tokens": 99}
    train_reward_model(RewardModelTrainConfig(**own, with_reference=False))
    card = (tmp_path / "rm" / "README.md").read_text()
    kept = VerifyRM.from_pretrained(NANO).settings.max_tokens
    assert f"At most {kept} tokens" in card and "<reference_answer>" in card
    assert "8 held-out triples 8 of them on questions that are among them" in card.replace(",", "").replace(";", "")
    assert json.loads((tmp_path / "rm" / "recipe.json").read_text())["recipe"]["max_tokens"] == kept
    assert f"keeps its max_tokens = {kept}" in caplog.text


def test_all_triples_held_out_leaves_nothing_to_train_on(tmp_path):
    (tmp_path / "triples.jsonl").write_text(json.dumps(GOOD) + "\n")
    own = {"model_name_or_path": str(NANO), "train_files": [str(tmp_path / "triples.jsonl")], "heldout_fraction": 0.999}
    with pytest.raises(BadInputError, match="all 1 triples are held out"):
        train_reward_model(RewardModelTrainConfig(**own, output_dir=str(tmp_path / "rm")))
    with pytest.raises(BadInputError, match="early_stopping_patience needs eval_steps and a save_steps"):
        RewardModelTrainConfig(**own, output_dir="x", early_stopping_patience=1, eval_steps=1)


def test_checkpoints_without_a_mark_are_not_trained_over(tmp_path):
    (tmp_path / "checkpoint-2").mkdir()
    (tmp_path / "checkpoint-2" / "optimizer.pt").write_text("")
    with pytest.raises(BadInputError, match="none of its checkpoints is whole"):
        checkpoint_of(tmp_path, resume=True)
    complete_checkpoint(tmp_path / "checkpoint-2", 2)
    (tmp_path / "checkpoint-4").mkdir()
    complete_checkpoint(tmp_path / "checkpoint-4", 4)  # which has no files
    assert checkpoint_of(tmp_path, resume=True).name == "checkpoint-2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-2", "damaged-checkpoint-4"]
