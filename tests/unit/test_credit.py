"""Credit: what each step gets of a completion's advantage, by hand; what its tokens get; the policy's own values."""

import math
import random
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from statistics import fmean
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from cooper_rl.credit import (
    CUE,
    Credit,
    check_credit,
    reference_values,
    step_advantages,
    token_advantages,
)
from cooper_rl.errors import BadInputError
from cooper_rl.method.build import make_cooper
from cooper_rl.method.pairs import mark_parting
from cooper_rl.method.protocols import Alone
from cooper_rl.records import Batch, ContrastivePair, LabelledCompletion, Reason, Sample, Verdict
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.method import MethodSettings
from cooper_rl.steps import step_ends, tokens_before
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm.losses import Counts, prefix_losses, steps_of
from rollouts import change, make_rollout

RIGHT, WRONG, SHORT = "1 + 1 = 2. 2 + 1 = 3. It is 3.", "1 + 1 = 2. 2 + 1 = 4. It is 4.", "It is 5."


def rollout(text, *values, group=0):
    ends = tuple(step_ends(text, "sentence"))
    score = values[-1] if values else 0.5
    own = (
        (Verdict.CORRECT, Reason.MATCH, score, group)
        if text == RIGHT
        else (Verdict.INCORRECT, Reason.MISMATCH, score, group)
    )
    return make_rollout("1 + 1 + 1 =", "3", text, score, *own, step_ends=ends, step_values=values)


GROUP = [rollout(RIGHT, 0.6, 0.8, 0.9), rollout(WRONG, 0.7, 0.4, 0.1), rollout(SHORT, 0.2)]
ADVANTAGES = [1.0, -0.5, -0.5]


def shared(credit, group=GROUP, advantages=ADVANTAGES, weight=0.5):
    return step_advantages(credit, group, advantages, weight, random.Random(0))


@pytest.mark.parametrize(
    ("credit", "expected"),
    [
        ("outcome", [[1, 1, 1], [-0.5, -0.5, -0.5], [-0.5]]),
        ("first_error", [[1, 1, 1], [0, -0.5, -0.5], [-0.5]]),
        # right: values around their mean 23/30; wrong: around (0.7 + 0.4 + 0.1 + 0.2) / 4 = 0.35
        ("centred", [[1 - 1 / 12, 1 + 1 / 60, 1 + 1 / 15], [-0.325, -0.475, -0.625], [-0.575]]),
        # before the first step: (0.9 + 0.1 + 0.2) / 3 = 0.4
        ("difference", [[1.1, 1.1, 1.05], [-0.35, -0.65, -0.65], [-0.6]]),
        ("reference_gain", [[1.1, 1.1, 1.05], [-0.35, -0.65, -0.65], [-0.6]]),
        # the first step is shared by a right and a wrong completion
        ("shared_prefix", [[0.25, 1, 1], [0.25, -0.5, -0.5], [-0.5]]),
    ],
)
def test_the_advantages_of_steps(credit, expected):
    for found, wanted in zip(shared(credit), expected, strict=True):
        assert found == pytest.approx(wanted)


def test_a_random_credit_has_the_parts_of_the_centred_one():
    parts = [
        sorted(a - own for a_S, own in zip(shared(credit), ADVANTAGES, strict=True) for a in a_S)
        for credit in ("centred", "random")
    ]
    assert parts[0] == pytest.approx(parts[1]) and shared("random") != shared("centred")
    assert shared("random") == shared("random"), "it is drawn with a seed"


@pytest.mark.parametrize("credit", ["first_error", "centred", "difference", "shared_prefix", "random"])
def test_without_a_difference_in_outcome_no_step_has_an_advantage(credit):
    assert shared(credit, advantages=[0.0, 0.0, 0.0]) == [[0.0] * 3, [0.0] * 3, [0.0]]


@pytest.mark.parametrize("credit", ["centred", "difference", "first_error", "shared_prefix"])
def test_equal_rewards_are_no_difference_though_their_advantages_are_not_quite_0(credit):
    group = [replace(each, reward=0.9) for each in GROUP]
    assert shared(credit, group, [-6e-4] * 3) == [[-6e-4] * 3, [-6e-4] * 3, [-6e-4]]


def test_what_begins_alike_ends_a_step_at_the_same_place():
    group = [rollout("x is 1. So 1.", 0.5, 0.5), rollout("x is 1. 2 in all. So 12.", 0.5, 0.5, 0.5)]
    group = [replace(each, reward=float(place)) for place, each in enumerate(group)]
    assert shared("shared_prefix", group, [1.0, -1.0]) == [[0.0, 1.0], [0.0, -1.0, -1.0]]
    lines = [
        change(each, completion=text, step_ends=(5 + len(text[5:].split("\n")[0]), len(text)))
        for each, text in zip(group, ("x = 1\nso 1", "x = 12\nso 12"), strict=True)
    ]
    assert shared("shared_prefix", lines, [1.0, -1.0]) == [[1.0, 1.0], [-1.0, -1.0]]


def test_a_blank_completion_counts_in_the_mean_score_of_its_group():
    group = [replace(rollout("", 0.9), step_ends=(), step_values=(), reward=0.9, score=0.9), rollout(SHORT, 0.1)]
    assert shared("difference", group, [0.7, -0.7], weight=1.0) == [[], [pytest.approx(-0.7 + 0.1 - 0.5)]]


def test_a_wrong_completion_without_a_low_value_is_punished_as_a_whole():
    assert shared("first_error", [rollout(WRONG, 0.9, 0.8, 0.7)], [-1.0]) == [[-1.0] * 3]


def test_a_blank_completion_has_no_step():
    assert shared("centred", [rollout(""), rollout(WRONG, 0.5, 0.5, 0.5)], [-1.0, 1.0]) == [[], [1.0] * 3]


class Valuing:
    """A reward model whose value after a step is one over the number of characters up to there."""

    version = 0

    def __init__(self):
        self.calls = []

    def score(self, triples):
        self.calls.append("score")
        return [1 / max(1, len(t.completion)) for t in triples]

    def step_values(self, triples, ends):
        self.calls.append("step_values")
        return [[1 / max(1, end) for end in ends_S] for ends_S in ends]


def method(folder, model, **settings):
    verifier = RuleVerifier(workers=1)
    given = {"num_generations": 3, "arm": "static", "counterfactual_references": 0, **settings}
    return make_cooper(MethodSettings(output_dir=str(folder), **given), verifier, model)


def test_score_and_values_come_from_one_call(tmp_path):
    model = Valuing()
    cooper = method(tmp_path, model, credit="difference")
    credit = Credit(cooper)
    with cooper.verifier:
        batch = cooper.score([Sample("?", "3", text) for text in (RIGHT, SHORT, "")], 1)
    assert model.calls == ["step_values"]
    assert [r.step_ends for r in batch.rollouts] == [(10, 21, len(RIGHT)), (len(SHORT),), ()]
    assert batch.rollouts[0].step_values == (1 / 10, 1 / 21, 1 / len(RIGHT))
    assert batch.rewards == (1 / len(RIGHT), 1 / len(SHORT), 1.0)
    steps = credit.share(batch, [1.0, -1.0, 0.0])
    assert [[end for end, _ in own] for own in steps] == [[10, 21, len(RIGHT)], [len(SHORT)], []]


def test_with_outcome_credit_no_step_is_valued(tmp_path):
    model = Valuing()
    cooper = method(tmp_path, model)
    with cooper.verifier:
        batch = cooper.score([Sample("?", "3", RIGHT)] * 3, 1)
    assert model.calls == ["score"] and batch.rollouts[0].step_values == ()


def test_reference_gain_takes_the_values_that_the_engine_gives(tmp_path):
    class Own(Credit):
        def ask_policy(self, samples, ends):
            return [[0.25] for _ in ends]

    cooper = method(tmp_path, None, arm="rule", credit="reference_gain")
    Own(cooper)
    with cooper.verifier:
        batch = cooper.score([Sample("?", "3", SHORT)] * 3, 1)
    assert {r.step_values for r in batch.rollouts} == {(0.25,)} and math.isnan(batch.rollouts[0].score)


def test_a_reward_model_that_values_no_steps_is_refused(tmp_path):
    class Whole:
        version = 0

        def score(self, triples):
            return [0.5 for _ in triples]

    with (
        pytest.raises(BadInputError, match="credit = centred: it needs a reward model that values steps"),
        RuleVerifier(workers=1) as verifier,
    ):
        settings = MethodSettings(output_dir=str(tmp_path), num_generations=3, arm="static", credit="centred")
        Credit(make_cooper(settings, verifier, Whole()))


def test_the_rule_arm_needs_a_reward_model_where_steps_are_valued():
    assert MethodSettings(arm="rule", credit="first_error").needs_reward_model
    assert not MethodSettings(arm="rule", credit="shared_prefix").needs_reward_model


def test_a_sharded_reward_model_values_no_steps():
    for settings in ({"credit": "centred"}, {"prefix_weight": 1.0}):
        with pytest.raises(BadInputError, match="reward_model_sharded"):
            MethodSettings(reward_model_sharded=True, **settings)


def test_a_sharded_policy_values_no_steps():
    check_credit("difference", sharded=True)
    with pytest.raises(BadInputError, match="credit = reference_gain: a sharded policy"):
        check_credit("reference_gain", sharded=True)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(resolve_model("nano", "policy"))


@pytest.fixture(scope="module")
def policy():
    return AutoModelForCausalLM.from_pretrained(resolve_model("nano", "policy"), dtype=torch.float32)


def test_tokens_have_the_advantage_of_the_step_that_they_end_in(tokenizer):
    texts = [RIGHT, "", SHORT]
    ids = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in texts]
    steps = [[(10, 0.1), (21, 0.2), (len(RIGHT), 0.3)], [], [(len(SHORT), 0.4)]]
    own_B = torch.tensor([1.0, 2.0, 3.0])
    found = token_advantages(tokenizer, ids, steps, own_B, 40)
    assert found.shape == (3, 40)
    for token, advantage in zip(range(len(ids[0])), found[0].tolist(), strict=False):
        ended = len(tokenizer.decode(ids[0][: token + 1], skip_special_tokens=True))
        assert advantage == pytest.approx(0.1 if ended <= 10 else 0.2 if ended <= 21 else 0.3)
    assert {round(a, 6) for a in found[0].tolist()} == {0.1, 0.2, 0.3} and found[0, -1] == pytest.approx(0.3)
    assert (found[1] == 2.0).all() and torch.allclose(found[2], torch.tensor(0.4))


TEXT = "We add 12 and 7. 🙂🙃 So «19» — ça va, 数学は楽しい。 Then  two   spaces .\n\nIt is 19 . Don't you?\t" * 3


def byte_level_tokenizer(**settings):
    """BPE over bytes, with so few merges that a character is several tokens."""
    whole = Tokenizer(models.BPE())
    whole.pre_tokenizer, whole.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<end>"], initial_alphabet=alphabet)
    whole.train_from_iterator([TEXT], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=whole, eos_token="<end>", **settings)


def metaspace_tokenizer():
    """As Llama 2: bytes where a character is unknown, and a first space that is stripped."""
    parts = ["▁We", "▁add", "▁", *"abcdefghijklmnopqrstuvwxyz12790.,'?WDTISo", "\n"]
    vocabulary = {"<end>": 0, "<unk>": 1, **{f"<0x{byte:02X}>": 2 + byte for byte in range(256)}}
    vocabulary |= {part: 258 + place for place, part in enumerate(parts)}
    merges = [("▁", "W"), ("▁W", "e"), ("▁", "a"), ("▁a", "d"), ("▁ad", "d")]
    vocabulary |= {"".join(pair): 400 + place for place, pair in enumerate(merges) if "".join(pair) not in vocabulary}
    whole = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=True, unk_token="<unk>"))
    whole.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    whole.decoder = decoders.Sequence(parts)
    return PreTrainedTokenizerFast(tokenizer_object=whole, eos_token="<end>", unk_token="<unk>")


@pytest.mark.parametrize("kind", ["nano", "byte_level", "cleaned_up", "metaspace"])
def test_the_token_where_a_step_ends_is_found_by_one_pass(kind, tokenizer, monkeypatch):
    """As many tokens as decoding each beginning of the text gives, also where a character is several tokens."""
    made = {"byte_level": byte_level_tokenizer, "metaspace": metaspace_tokenizer}
    made["cleaned_up"] = lambda: byte_level_tokenizer(clean_up_tokenization_spaces=True)
    own = made[kind]() if kind in made else tokenizer
    plain = own(TEXT, add_special_tokens=False)["input_ids"]
    end = own.eos_token_id
    for ids in (plain, [*plain, end], [*plain[:40], end, *plain[40:80], end, end], plain[3:], [end], []):
        lengths = [len(own.decode(ids[:count], skip_special_tokens=True)) for count in range(len(ids) + 1)]
        ends: Iterable[int] = range(lengths[-1] + 2)
        if kind == "metaspace":  # where each byte of half a character is a mark of its own
            ends = step_ends(own.decode(ids, skip_special_tokens=True), "sentence")
        asked = Mock(wraps=own.decode)
        with monkeypatch.context() as context:
            context.setattr(own, "decode", asked)
            found = tokens_before(own, ids, ends)
        assert found == [bisect_left(range(len(ids)), at, key=lambda count: lengths[count]) for at in ends]
        if kind != "cleaned_up":  # spaces before marks are taken out, which one token alone does not tell
            assert sum(len(call.args[0]) for call in asked.call_args_list) <= 17 * len(ids)


def test_reference_values_are_those_of_one_sequence_at_a_time(policy, tokenizer):
    prompts = tokenizer(["1 + 1 + 1 =", "State the sum: 2 + 2 ="])["input_ids"]
    completions, references = [RIGHT, SHORT], ["3", "4"]
    ends = [step_ends(text, "sentence") for text in completions]
    samples = [Sample("?", *each) for each in zip(references, completions, strict=True)]
    computed = []  # logits: for a row of 40 tokens and an answer of one there is one place
    hook = policy.register_forward_hook(lambda _, __, outputs: computed.append(outputs.logits.shape[:2].numel()))
    found = reference_values(policy, tokenizer, prompts, samples, ends)
    hook.remove()
    assert [len(own) for own in found] == [3, 1] and sum(computed) <= 4 * 4
    for prompt, text, reference, ends_S, values_S in zip(prompts, completions, references, ends, found, strict=True):
        for end, value in zip(ends_S, values_S, strict=True):
            begun, cue = tokenizer(text[:end])["input_ids"], tokenizer(CUE)["input_ids"]
            answer = tokenizer(f" {reference}")["input_ids"]
            ids = torch.tensor([[*prompt, *begun, *cue, *answer]])
            with torch.no_grad():
                logprobs = torch.log_softmax(policy(ids).logits[0], -1)
            start = ids.shape[1] - len(answer)
            own = [logprobs[place - 1, ids[0, place]].item() for place in range(start, ids.shape[1])]
            assert value == pytest.approx(math.exp(fmean(own)), rel=1e-4)


def pair(positive, negative, source="mined"):
    return ContrastivePair("1 + 1 + 1 =", "3", positive, negative, source)


def test_a_pair_parts_where_the_model_is_the_most_wrong():
    longer = "1 + 1 = 2. 2 + 1 = 4. 4 is it. So 4."
    values = [rollout(longer, 0.9, 0.3, 0.6, 0.1)]
    assert mark_parting(pair(RIGHT, longer), values, "sentence", valued=True).at == 2
    assert (
        mark_parting(pair(RIGHT, longer), [], "sentence", valued=True).at == 1
    )  # without values the first that differs
    assert mark_parting(pair(RIGHT, "1 + 1 = 2. 2 + 1 = 3. It is 5."), [], "sentence", valued=True).at is None
    assert mark_parting(pair(RIGHT, SHORT), [], "sentence", valued=True).at is None


def test_a_pair_parts_at_the_first_difference_where_the_values_are_the_policys():
    longer = "1 + 1 = 2. 2 + 1 = 4. 4 + 0 = 4. It is 4."
    values = [rollout(longer, 0.1, 0.1, 0.8, 0.1)]
    assert mark_parting(pair(RIGHT, longer), values, "sentence", valued=False).at == 1


def test_the_losses_of_prefixes_by_hand():
    pairs = [mark_parting(pair(RIGHT, text), [], "sentence", valued=True) for text in (WRONG, SHORT)]
    assert [p.at for p in pairs] == [1, None]
    triples = [
        LabelledCompletion("?", "3", RIGHT, True),
        LabelledCompletion("?", "3", WRONG, False, first_error=1),
        LabelledCompletion("?", "3", SHORT, False),
    ]
    positives = [torch.tensor([0.5, 2.0, 3.0]), torch.tensor([0.5, 2.0, 3.0])]
    negatives = [torch.tensor([0.5, 1.0, -3.0]), torch.tensor([-2.0])]
    labelled = [torch.tensor([1.0, 0.0, 3.0]), torch.tensor([1.0, -1.0, -3.0]), torch.tensor([-2.0])]
    loss, metrics = prefix_losses(pairs, triples, [*positives, *negatives, *labelled], Counts(2, 3, 1, 2))

    def cost(z):
        return math.log(1 + math.exp(-z))

    contrastive = cost(2.0 - 1.0)
    prefixes = fmean([fmean([cost(1.0), cost(0.0)]), fmean([cost(1.0), cost(1.0)])])
    assert loss.item() == pytest.approx(contrastive + prefixes, rel=1e-6)
    assert metrics["step_margin"] == pytest.approx(1.0) and metrics["step_pair_accuracy"] == 1.0
    assert metrics["prefix_loss"] == pytest.approx(prefixes, rel=1e-6)


def test_the_steps_of_a_record_are_its_own_or_the_texts():
    assert steps_of(LabelledCompletion("?", "3", RIGHT, True, ends=(4, len(RIGHT))), "sentence") == (4, len(RIGHT))
    assert steps_of(LabelledCompletion("?", "3", "", False), "sentence") == [0]


def test_each_rank_gets_the_steps_of_its_own_samples():
    class Two(Alone):
        """Rank 1 of two, each with half of a group."""

        size, rank = 2, 1

        def gather(self, own):
            return [[1.0, -0.5], *own]

    core = SimpleNamespace(settings=MethodSettings(credit="shared_prefix"), reward_model=None, ranks=Two())
    credit = Credit(core)
    batch = Batch(1, (*GROUP, change(GROUP[0], completion=RIGHT)))
    steps = credit.share(batch, [-0.5, 0.0])
    assert [[end for end, _ in own] for own in steps] == [[len(SHORT)], [10, 21, len(RIGHT)]]
    assert [[a for _, a in own] for own in steps] == [[-0.5], [pytest.approx(1 / 6), 0.5, 0.5]]
