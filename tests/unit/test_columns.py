"""What is read of users' records: references and their aliases, questions, and what was said in conversations."""

import decimal

import numpy as np
import pytest
import torch

from cooper_rl.columns import aliases_of, assistant_text, question_of, reference_of, user_text, worked_solution_of
from cooper_rl.errors import BadInputError

SOLUTION = "Each has 3: 400*3 = <<400*3=1200>>1,200.\n#### 1,200\n"
IMAGE = {"type": "image", "text": None}


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"answer": "72"}, ("72", ())),
        ({"solution": " 1/2 "}, (" 1/2 ", ())),
        ({"ground_truth": 3}, ("3", ())),
        ({"gold": -2.0}, ("-2", ())),
        ({"gold": 0.00001}, ("0.00001", ())),
        ({"gold": decimal.Decimal("18.50")}, ("18.5", ())),
        ({"reward_model": {"style": "rule", "ground_truth": "7"}}, ("7", ())),
        ({"reference_answer": "1", "reference": "2", "answer": "3"}, ("1", ())),
        ({"reference_answer": None, "final_answer": "2", "Answer": "4", "answer": "3"}, ("2", ())),
        ({"answer": "3", "solution": None}, ("3", ())),
        ({"answer": True}, ("True", ())),
        ({"answer": SOLUTION}, ("1200", ())),
        ({"answer": "#### (1, 2)"}, ("(1, 2)", ())),
        ({"answer": "#### no marker\nin the last line"}, ("#### no marker\nin the last line", ())),
        ({"answer": ["3", "three", 3, 3.0]}, ("3", ("three",))),
        ({"answer": ("3",)}, ("3", ())),
        ({"answer": np.array([3, 4])}, ("3", ("4",))),
        ({"answer": np.array(5.0)}, ("5", ())),
        ({"answer": np.float32(0.1)}, ("0.1", ())),
        ({"answer": np.int64(6)}, ("6", ())),
        ({"answer": np.array(["a", "b"], dtype=object)}, ("a", ("b",))),
        ({"answer": "7", "aliases": ["seven", 7, "VII"]}, ("7", ("seven", "VII"))),
        ({"answer": "7", "aliases": None}, ("7", ())),
        ({"answer": ["7", "seven"], "extra_info": {"aliases": ["VII"]}}, ("7", ("seven", "VII"))),
    ],
)
def test_a_reference_and_its_aliases(record, found):
    assert reference_of(record, "a.jsonl:1") == found
    assert all(type(text) is str for text in (found[0], *reference_of(record, "x")[1]))


def test_a_column_of_ones_own():
    record = {"answer": "1", "solution": "2", "meta": {"final": ["3"]}, "a.b": "4"}
    assert reference_of(record, "x", "solution") == ("2", ())
    assert reference_of(record, "x", "meta.final") == ("3", ())
    assert reference_of(record, "x", "a.b") == ("4", ())
    with pytest.raises(BadInputError, match=r"x: no meta.first, .* it has a.b, answer, meta, solution$"):
        reference_of(record, "x", "meta.first")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            {"answer": "1", "solution": "2"},
            "x: answer and solution may both be the reference answer; set reference_col",
        ),
        ({"text": "1"}, "x: the record needs one of reference_answer, .*ground_truth.*; it has text$"),
        ({}, "it has none$"),
        ({"answer": torch.tensor(3)}, r"x: column 'answer' holds a tensor; call dataset.reset_format\(\)"),
        ({"answer": torch.tensor([3, 4])}, "holds a tensor"),
        ({"answer": [torch.tensor(3)]}, "holds a tensor"),
        ({"answer": float("nan")}, "x: column 'answer' is nan, which is no number"),
        ({"answer": np.float32("inf")}, "is inf"),
        ({"answer": ["1", float("-inf")]}, "is -inf"),
        ({"answer": decimal.Decimal("NaN")}, "is NaN"),
        ({"answer": []}, "x: column 'answer' is an empty list"),
        ({"answer": np.array([])}, "is an empty list"),
        ({"answer": " \n"}, "x: column 'answer' is blank"),
        ({"answer": "So.\n####"}, "x: column 'answer' is blank"),
        ({"answer": ["1", ""]}, "is blank"),
        ({"answer": {"value": "1"}}, "x: column 'answer' holds a dict; a reference answer is a text, a number or a li"),
        ({"answer": [["1"]]}, "holds a list"),
        ({"answer": np.array([[1, 2]])}, "holds a list"),
        ({"answer": ["1", None]}, "holds null"),
        ({"answer": b"1"}, "holds a bytes"),
        ({"answer": "1", "aliases": [None]}, "x: column 'aliases' holds null"),
    ],
)
def test_what_is_no_reference_is_one_line(record, message):
    with pytest.raises(BadInputError, match=message) as raised:
        reference_of(record, "x")
    assert "\n" not in str(raised.value)


def test_a_worked_solution():
    assert worked_solution_of({"answer": SOLUTION}) == "Each has 3: 400*3 = 1,200.\n#### 1,200"
    assert worked_solution_of({"answer": SOLUTION, "worked_solution": "So 7."}) == "So 7."
    assert worked_solution_of({"text": SOLUTION, "answer": "1200"}, "text").startswith("Each has 3: 400*3 = 1,200.")
    assert worked_solution_of({"answer": "7", "worked_solution": None}) == ""
    assert worked_solution_of({"answer": "7", "extra_info": {"worked_solution": "So 7."}}) == "So 7."
    assert aliases_of({}, "x") == []


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    ("record", "question"),
    [
        ({"question": " 1 + 1? ", "problem": "no"}, " 1 + 1? "),
        ({"question": None, "problem": " ", "prompt": [SYSTEM, user("1 + 1?")]}, "1 + 1?"),
        ({"question": float("nan"), "prompt": "1 + 1?"}, "1 + 1?"),
        ({"question": 12}, "12"),
        ({"question": "", "prompt": np.array([user("1 + 1?")], dtype=object)}, "1 + 1?"),
        ({"prompt": "<|user|>1 + 1?<|assistant|>"}, "1 + 1?"),
        ({"question": "What is <|user|> in a prompt?"}, "What is <|user|> in a prompt?"),
        ({"Body": "He has 2 hens. ", "Question": "How many legs?"}, "He has 2 hens. How many legs?"),
        ({"extra_info": {"question": "1 + 1?"}}, "1 + 1?"),
    ],
)
def test_a_question(record, question):
    assert question_of(record, "x") == question


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"answer": "1"}, "x: the record needs one of question, problem, prompt, .*; it has answer$"),
        ({"question": None, "prompt": []}, r"x: the question is blank \(prompt\)"),
        ({"prompt": [user(" ")]}, "x: the question is blank"),
        ({"prompt": [SYSTEM, assistant("<think>")]}, "x: the question is blank"),
        (
            {"question": ["1 + 1?"]},
            "x: question must be text or messages; column 'question': a prompt must be a text, o",
        ),
        ({"question": {"text": "1"}}, "x: question must be text or messages; column 'question' holds a dict"),
        ({"prompt": [user([IMAGE])]}, "x: .* a prompt has a part of type image; the reward model reads text alone"),
        ({"question": torch.tensor(1)}, "x: column 'question' holds a tensor"),
    ],
)
def test_what_is_no_question_is_one_line(record, message):
    with pytest.raises(BadInputError, match=message) as raised:
        question_of(record, "x")
    assert "\n" not in str(raised.value)


PARTS = [{"type": "text", "text": "What is"}, {"type": "text", "text": "1 + 1?"}]
THREE = [SYSTEM, user("1 + 1?"), assistant("2."), user("And 2 + 2?"), assistant("<think>")]
SAID = "User: 1 + 1?\n\nAssistant: 2.\n\nUser: And 2 + 2?"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("1 + 1?", "1 + 1?"),
        (" 1 < 2 and </s>\n", " 1 < 2 and </s>\n"),
        ([user("1 + 1?")], "1 + 1?"),
        ([user(PARTS)], "What is\n1 + 1?"),
        ([SYSTEM, user("1 + 1?"), assistant("Let me think.")], "1 + 1?"),
        ([user("1 + 1?"), assistant(None), assistant("<think>")], "1 + 1?"),
        (THREE, SAID),
        (THREE[:-1], SAID),
        ([user("a"), user("b")], "User: a\n\nUser: b"),
        ([], ""),
    ],
)
def test_what_the_user_says(prompt, text):
    assert user_text(prompt) == text


def rendered(template, messages=THREE, **more):
    """As a chat template writes it: the begun answer follows the mark of the assistant's turn."""
    import jinja2

    names = {"bos_token": "<s>", "eos_token": "</s>", "messages": messages, **more}
    return jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(template).render(names)


TEMPLATES = {
    "chatml": (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}"
        "{% if not loop.last %}{{ '<|im_end|>\n' }}{% endif %}{% endfor %}"
    ),
    "phi4": (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '<|im_sep|>' + m.content }}"
        "{% if not loop.last %}<|im_end|>{% endif %}{% endfor %}"
    ),
    "llama3": (
        "<|begin_of_text|>{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' }}"
        "{{ m.content }}{% if not loop.last %}<|eot_id|>{% endif %}{% endfor %}"
    ),
    "zephyr": (
        "{% for m in messages %}{{ '<|' + m.role + '|>\n' + m.content }}"
        "{% if not loop.last %}{{ '</s>\n' }}{% endif %}{% endfor %}"
    ),
    "phi3": (
        "<s>{% for m in messages %}{{ '<|' + m.role + '|>\n' + m.content }}"
        "{% if not loop.last %}{{ '<|end|>\n' }}{% endif %}{% endfor %}"
    ),
    "gemma": (
        "<bos>{% for m in messages[1:] %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
        "{% if loop.first %}Be brief.\n\n{% endif %}{{ m.content }}"
        "{% if not loop.last %}{{ '<end_of_turn>\n' }}{% endif %}{% endfor %}"
    ),
    "llama2": ("<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n1 + 1? [/INST] 2. </s><s>[INST] And 2 + 2? [/INST] <think>"),
    "mistral": "<s>[SYSTEM_PROMPT] Be brief.[/SYSTEM_PROMPT][INST] 1 + 1?[/INST] 2.</s>[INST] And 2 + 2?[/INST]<think>",
    "deepseek": (
        "<｜begin▁of▁sentence｜>Be brief.<｜User｜>1 + 1?<｜Assistant｜>2.<｜end▁of▁sentence｜>"
        "<｜User｜>And 2 + 2?<｜Assistant｜><think>\n"
    ),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_prompt_that_a_chat_template_wrote_is_split_into_its_turns(name):
    expected = SAID.replace("1 + 1?", "Be brief.\n\n1 + 1?") if name == "gemma" else SAID  # Gemma has no system turn
    assert user_text(rendered(TEMPLATES[name])) == expected


def test_a_prompt_of_the_shipped_tokenizer_is_split():
    from transformers import AutoTokenizer

    from cooper_rl.settings.files import EMBEDDED

    tokenizer = AutoTokenizer.from_pretrained(EMBEDDED["nano"]["policy"])
    for messages in ([SYSTEM, user("1 + 1?")], [user("1 + 1?")]):
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert user_text(text) == user_text(text + "Let me think.") == user_text(text.removesuffix("<|assistant|>"))
        assert user_text(text) == "1 + 1?"


@pytest.mark.parametrize(
    "text", ["What is <|user|> for?", "Is [INST] a tag?", "Write [/INST] then [INST].", "a <start_of_turn>model b"]
)
def test_a_text_that_names_a_mark_is_no_written_prompt(text):
    assert user_text(text) == text


def test_spaces_without_end_are_read_in_no_time():
    text = f"<|im_start|>user\n1{' ' * 200_000}+ 1?<|im_end|>\n<|im_start|>assistant\n"
    assert len(user_text(text)) == 200_005


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("It is 2.", "It is 2."),
        ([assistant("It is 2.")], "It is 2."),
        ([assistant(None)], ""),
        ([assistant(PARTS)], "What is\n1 + 1?"),
        ([assistant("I look."), {"role": "tool", "content": "2"}, assistant("It is 2.")], "It is 2."),
        ([assistant("It is 2."), assistant(None), {"role": "tool", "content": "3"}], "It is 2."),
        ([], ""),
    ],
)
def test_the_text_of_a_completion(completion, text):
    assert assistant_text(completion) == text


@pytest.mark.parametrize("wrong", [None, 3, {"role": "user"}, ["1 + 1?"], [{"content": "1 + 1?"}], [user(3)]])
def test_what_is_no_conversation_is_one_line(wrong):
    with pytest.raises(BadInputError, match="a prompt must be a text, or messages"):
        user_text(wrong)
