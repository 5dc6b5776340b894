"""Step ends, and the values that a VerifyRM gives to the prefixes that end there."""

import pytest
import torch

from cooper_rl.records import Triple
from cooper_rl.settings.files import resolve_model
from cooper_rl.steps import step_ends
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.logits import plain_logits
from cooper_rl.verifyrm.template import render_prefix


def parts(text, kind):
    ends = step_ends(text, kind)
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("text", "lines", "sentences"),
    [
        ("3 + 6 = 9. 9 * 2 = 18. So it is 18.", 1, ["3 + 6 = 9.", " 9 * 2 = 18.", " So it is 18."]),
        ("1. Add 3.5 and 2.\n\n2. Get 5.5!\n", 2, ["1. Add 3.5 and 2.", "\n\n2. Get 5.5!\n"]),
        ("no mark", 1, ["no mark"]),
        ("Is it 4? Yes.", 1, ["Is it 4?", " Yes."]),
        ("", 0, []),
        (" \n\n\t\n", 0, []),
        ("a\n\n\n\nb", 2, ["a", "\n\n\n\nb"]),
    ],
)
def test_steps(text, lines, sentences):
    assert parts(text, "sentence") == sentences
    assert len(parts(text, "line")) == lines and "".join(parts(text, "line")) == (text if lines else "")
    with pytest.raises(ValueError, match="line or sentence"):
        step_ends(text, "paragraph")


@pytest.fixture(scope="module")
def model():
    return VerifyRM.from_pretrained(resolve_model("nano", "reward_model"))


QUESTION = "What is 3 plus 6, times 2? Work it out step by step, and say the answer at the end of your text."
TEXTS = [
    "3 + 6 = 9. 9 * 2 = 18. So it is 18.",
    "3 + 6 = 9. 9 * 2 = 17. So it is 17.",
    "3 + 6 = 9.",
    "The </completion> is 7. 7 * 2 = 14. It is 14.",
]


def alone(model, record, end):
    """The value of a prefix by a pass of its own over the tokens that lie within it."""
    (ids,) = model.encode([record])
    text = render_prefix(record.question, record.reference_answer) + record.completion[:end].replace("</", "< /")
    kept = next(n for n in range(len(ids), 0, -1) if text.startswith(model.tokenizer.decode(ids[:n])))
    return torch.sigmoid(plain_logits(model.model, [ids[:kept]]) / model.settings.temperature).item()


@torch.no_grad()
def test_values_are_those_of_each_prefix_alone_and_the_last_is_the_score(model):
    records = [Triple(QUESTION, "18", text) for text in TEXTS]
    ends = [step_ends(text, "sentence") for text in TEXTS]
    values = model.step_values(records, ends)
    scores = model.score_records(records)
    for record, ends_S, values_S, score in zip(records, ends, values, scores, strict=True):
        assert values_S.shape == (len(ends_S),)
        assert values_S[-1].item() == pytest.approx(score.item(), abs=1e-5)
        expected = [alone(model, record, end) for end in ends_S[:-1]]
        assert values_S[:-1].tolist() == pytest.approx(expected, abs=1e-5)
    together = model.score([QUESTION] * 4, ["18"] * 4, TEXTS, spans="sentence")
    assert all(torch.equal(a, b) for a, b in zip(values, together, strict=True))
    assert values[0][1] != values[1][1]


def test_a_completion_without_steps_has_no_values_and_its_neighbours_keep_theirs(model):
    found = model.score([QUESTION] * 3, ["18"] * 3, ["", TEXTS[0], " \n"], spans="line")
    assert [len(values) for values in found] == [0, 1, 0]
    assert model.step_values([], []) == []


def test_steps_that_were_cut_off_have_the_first_value_that_is_left(model):
    text = " ".join(f"{i} + {i} = {2 * i}." for i in range(200))
    ends = step_ends(text, "sentence")
    (values,) = model.step_values([Triple(QUESTION, "18", text)], [ends])
    (ids,) = model.encode([Triple(QUESTION, "18", text)])
    assert len(ids) == model.settings.max_tokens and len(values) == len(ends) == 200
    cut = [value == values[0] for value in values]
    assert 20 < sum(cut) < 195 and all(cut[: sum(cut)])  # one value at the beginning, then each its own
    later = cut.index(False)
    assert values[later].item() == pytest.approx(alone_in(model, ids, text[: ends[later]]), abs=1e-5)


def alone_in(model, ids, text):
    """The value after the part of cut ids whose text ends as this text does."""
    ending = text[-12:]
    kept = next(n for n in range(1, len(ids)) if model.tokenizer.decode(ids[:n]).endswith(ending))
    with torch.no_grad():
        return torch.sigmoid(plain_logits(model.model, [ids[:kept]]) / model.settings.temperature).item()
