"""Problems from files, names and generators; complaints name file, record and field."""

import gzip
import json

import pytest

from cooper_rl.domains import find_domain, load_problems, warn_of_shared
from cooper_rl.domains.problems import KNOWN
from cooper_rl.errors import BackendError, BadInputError, MissingFileError
from cooper_rl.records import Problem


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_local_files_of_each_kind_give_the_same_problems(tmp_path):
    import pyarrow
    import pyarrow.parquet

    rows = [{"question": "1 + 1?", "answer": "2"}, {"question": "2 + 2?", "answer": "4"}]
    jsonl = write(tmp_path / "a.jsonl", *rows)
    (tmp_path / "a.json").write_text(json.dumps(rows))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in (jsonl, str(tmp_path / "a.json"), str(tmp_path / "a.parquet")):
        assert [(p.question, p.reference_answer) for p in load_problems(name)] == [("1 + 1?", "2"), ("2 + 2?", "4")]


@pytest.mark.parametrize("start", ["", "\ufeff", "\n  \n", "\ufeff\n"])
@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.jsonl", "a.jsonl.gz"])
def test_a_mark_or_a_blank_line_before_the_first_record(tmp_path, start, name):
    rows = [{"question": "1 + 1?", "answer": "2"}, {"question": "2 + 2?", "answer": "4"}]
    text = start + ("\n".join(map(json.dumps, rows)) if "jsonl" in name else json.dumps(rows))
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    assert [p.reference_answer for p in load_problems(str(tmp_path / name))] == ["2", "4"]


def test_a_record_in_svamp_s_shape_keeps_its_question(tmp_path):
    svamp = {"Body": "He has 2 hens. ", "Question": "How many legs?", "Answer": 4.0}
    name = write(tmp_path / "a.jsonl", svamp, {"Body": "How many?", "Answer": 1})
    assert [p.question for p in load_problems(name)] == ["He has 2 hens. How many legs?", "How many?"]
    name = write(tmp_path / "b.jsonl", {"Body": "He has 2 hens.", "Question": ["How many legs?"], "Answer": 4})
    with pytest.raises(BadInputError, match=r"b\.jsonl:1: question must be text"):
        load_problems(name)


def test_held_out_questions_that_are_trained_on_are_counted_in_one_line(caplog):
    def numbered(*numbers):
        return [Problem(f"{number}?", "1") for number in numbers]

    warn_of_shared(numbered(1, 2, 3), numbered(4, 5))
    assert not caplog.messages
    warn_of_shared(numbered(1, 2, 3), numbered(3, 4, 1))
    (line,) = caplog.messages
    assert line.startswith("2 of 3 held-out questions are training questions too; name") and "\n" not in line


def test_a_size_is_a_seeded_draw(tmp_path):
    name = write(tmp_path / "a.jsonl", *({"question": f"{i}?", "answer": i} for i in range(50)))
    first = [p.question for p in load_problems(name, size=10, seed=1)]
    assert first == [p.question for p in load_problems(name, size=10, seed=1)] and len(set(first)) == 10
    assert first != [p.question for p in load_problems(name, size=10, seed=2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"question": "1?", "answer": "1"}\n{"question": "2?"}\n',
            "a.jsonl:2: the record needs one of reference_answer",
        ),
        ('{"answer": "1"}\n', "a.jsonl:1: the record needs one of question"),
        ('{"question": "1?", "answer": {}}\n', "a.jsonl:1: column 'answer' holds a dict; a reference"),
        ("{\n", "a.jsonl:1: not JSON"),
        ("[1]\n", "a.jsonl:1: not an object"),
        ('{"question": "1?", "answer": "1"}\n{"question": "2?", "answer": NaN}\n', "a.jsonl:2: column 'answer' is nan"),
        ('{"question": "1?", "answer": -Infinity}\n', "a.jsonl:1: column 'answer' is -inf, which is no"),
        ("", "no problem with an answer"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, content, message):
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(BadInputError, match=message):
        load_problems(str(tmp_path / "a.jsonl"))


def test_local_copies_of_public_sets(tmp_path, monkeypatch):
    monkeypatch.setenv("COOPER_DATA_DIR", str(tmp_path))
    (tmp_path / "problems").mkdir()
    write(
        tmp_path / "problems" / "gsm8k_train.jsonl",
        {"question": "Q", "answer": "He has 2 * 600 = <<2*600=1200>>1,200 eggs.\n#### 1,200"},
    )
    (problem,) = load_problems("gsm8k")
    assert (problem.question, problem.reference_answer) == ("Q", "1200")
    assert problem.metadata["worked_solution"] == "He has 2 * 600 = 1,200 eggs.\n#### 1,200"
    with pytest.raises(BadInputError, match="svamp has no split 'train'"):
        load_problems("svamp")


HUB = {  # a record of each public set as the hub has it, and the question and answer that it stands for
    "gsm8k": ({"question": "Q", "answer": "1 + 1 = 2\n#### 2"}, ("Q", "2")),
    "math": ({"problem": "Q", "solution": r"\boxed{2}", "answer": "2", "level": "1"}, ("Q", "2")),
    "math500": ({"problem": "Q", "solution": "S", "answer": "2", "unique_id": "a"}, ("Q", "2")),
    "svamp": ({"Body": "B. ", "Question": "Q", "Answer": "2.0", "Equation": "1+1"}, ("B. Q", "2")),
    "olympiadbench": ({"question": "Q", "final_answer": ["2"], "solution": ["S"]}, ("Q", "2")),
    "odyssey": ({"problem_number": 1, "problem_statement": "Q", "answer": "2"}, ("Q", "2")),
    "aqua": ({"question": "Q", "options": ["A)2"], "rationale": "R", "correct": "A"}, ("Q Answer choices: A)2", "A")),
}


@pytest.mark.parametrize("name", sorted(HUB))
def test_every_public_set_comes_from_the_hub_without_a_local_copy(name, monkeypatch):
    import datasets

    asked = []

    def load(path, configuration, *, split, data_files):
        asked.append((path, configuration, split))
        return [HUB[name][0]]

    monkeypatch.delenv("COOPER_DATA_DIR", raising=False)
    monkeypatch.setattr(datasets, "load_dataset", load)
    domain = find_domain(name)
    for split in domain.splits:
        (problem,) = load_problems(name, split=split)
        assert (problem.question, problem.reference_answer) == HUB[name][1]
    assert asked == list(domain.hub.values()) and all(path.count("/") == 1 for path, _, _ in asked)


def test_every_known_name_is_tried_here():
    assert HUB.keys() | {"nano", "nano-kinship", "nano-steps", "nano-weekdays", "schoolbook"} == KNOWN.keys()
    assert all(find_domain(name).name == name for name in KNOWN)


@pytest.mark.parametrize(
    ("question", "answer", "plain"),
    [
        ("Q\n\t\n\n\\end{problem}\n\\noindent", "16\\\\\n\\noindent", "16"),
        ("Q \n\\end{problem}\\noindent", "16. \\\\\n\n\\noindent", "16."),
        ("Q", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}"),
    ],
)
def test_the_layout_of_odyssey_s_source_is_no_part_of_it(question, answer, plain, tmp_path, monkeypatch):
    monkeypatch.setenv("COOPER_DATA_DIR", str(tmp_path))
    write(tmp_path / "odyssey_math.jsonl", {"Problem_1": {"question": question, "answer": answer, "label": "Algebra"}})
    (problem,) = load_problems("odyssey", split="test")
    assert (problem.question, problem.reference_answer) == ("Q", plain)


def test_a_hub_that_is_not_there_is_one_line(monkeypatch):
    import datasets

    def unreachable(*_, **__):
        raise OSError("no route")

    monkeypatch.delenv("COOPER_DATA_DIR", raising=False)
    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(BackendError, match=r"MATH-benchmark: the hub cannot be read \(no route\); set COOPER_DATA_DIR"):
        load_problems("math")


def test_a_data_set_that_is_a_script_is_one_line(monkeypatch):
    import datasets

    def scripted(*_, **__):
        raise RuntimeError("Dataset scripts are no longer supported,\nbut found name.py")

    monkeypatch.setattr(datasets, "load_dataset", scripted)
    with pytest.raises(BackendError, match=r"owner/name: the hub cannot be read \(.*supported, but found name\.py\)"):
        load_problems("owner/name")


def test_generated_sets():
    assert [p.question for p in load_problems("reasoning_gym:chain_sum", size=5)] == [
        p.question for p in load_problems("reasoning_gym:chain_sum", size=5)
    ]
    assert len(load_problems("nano", split="heldout", size=7)) == 7


def test_unknown_names():
    with pytest.raises(BadInputError, match="no such task"):
        load_problems("reasoning_gym:nonsense", size=2)
    with pytest.raises(BadInputError, match="reasoning_gym:composite: no such task, or none without settings"):
        load_problems("reasoning_gym:composite", size=2)
    with pytest.raises(BadInputError, match="no data set 'gsm9k'"):
        load_problems("gsm9k")
    with pytest.raises(MissingFileError, match=r"none\.jsonl"):
        load_problems("none.jsonl")
