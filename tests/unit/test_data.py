"""Problems from files, names and generators; complaints name file, record and field."""

import gzip
import json
import os
import random
import subprocess
import sys

import pytest

from cooper_rl.domains import (
    check_named_problems,
    check_problems,
    find_domain,
    heldout_problems,
    load_problems,
    own_data,
    training_problems,
    warn_of_shared,
)
from cooper_rl.domains.own_data import FileSet
from cooper_rl.domains.problems import KNOWN
from cooper_rl.engines.trl.rows import training_rows
from cooper_rl.engines.verl.verl_data import rows_of, write_rows
from cooper_rl.errors import BackendError, BadInputError, MissingFileError
from cooper_rl.records import Problem, Sample
from cooper_rl.settings.train import TrainSettings
from cooper_rl.tables import read_records
from cooper_rl.verifyrm.triples import read_triples


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
    (tmp_path / "a.csv").write_text("question,answer\n1 + 1?,2\n2 + 2?,4\n")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))
    others = (str(tmp_path / f"a.{kind}") for kind in ("json", "parquet", "csv", "csv.gz", "json.gz"))
    for name in (jsonl, *others):
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


def test_gsm8k_s_own_records_in_a_file(tmp_path):
    record = {"question": "How many?", "answer": "Each has 3: 400*3 = <<400*3=1200>>1200.\n#### 1,200"}
    (problem,) = load_problems(write(tmp_path / "a.jsonl", record))
    assert (problem.reference_answer, problem.aliases) == ("1200", ())
    assert problem.metadata == {"worked_solution": "Each has 3: 400*3 = 1200.\n#### 1,200"}


def test_verl_s_own_parquet_is_read(tmp_path):
    problems = [
        Problem("1 + 1?", "2", metadata={"worked_solution": "So 2."}),
        Problem("2 + 2?", "4", aliases=("four",)),
    ]
    path = write_rows(tmp_path / "train.parquet", rows_of(problems, "made", "Be brief."))
    found = load_problems(str(path))
    assert [(p.question, p.references, dict(p.metadata)) for p in found] == [
        ("1 + 1?", ("2",), {"worked_solution": "So 2."}),
        ("2 + 2?", ("4", "four"), {}),
    ]
    assert found[1].problem_id == f"{path} row 2"


FRAME = (
    "Solve the following math problem step by step. The last line of your response should be of the form Answer:"
    " $Answer (without quotes) where $Answer is the answer to the problem.\n\n{}\n\nRemember to put your answer on its"
    ' own line after "Answer:".'
)


def dapo_rows(times):
    """Two problems in DAPO-Math-17k's published form, each so many times."""
    return [
        {
            "data_source": "math_dapo",
            "prompt": [{"role": "user", "content": FRAME.format(question)}],
            "ability": "MATH",
            "reward_model": {"ground_truth": answer, "style": "rule-lighteval/MATH_v2"},
            "extra_info": {"index": index},
        }
        for _ in range(times)
        for question, answer, index in (("What is $1 + 1$?\n\nIn all.", "2", "a-1"), ("$x = 34$. $x$?", "34", "b-2"))
    ]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_dapo_s_published_file_has_each_problem_once(tmp_path, monkeypatch, caplog, suffix):
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / f"dapo-math-17k.{suffix}"
    if suffix == "jsonl":
        write(path, *dapo_rows(100))
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(dapo_rows(100)), path)
        monkeypatch.setenv("COOPER_DATA_DIR", str(tmp_path))
        named = load_problems("dapo-math-17k")
        plain = [("What is $1 + 1$?\n\nIn all.", "2"), ("$x = 34$. $x$?", "34")]
        assert [(p.question, p.reference_answer) for p in named] == plain
    own = load_problems(str(path))  # as somebody's own file: with its frame
    assert [(p.question, p.reference_answer) for p in own] == [
        (FRAME.format("What is $1 + 1$?\n\nIn all."), "2"),
        (FRAME.format("$x = 34$. $x$?"), "34"),
    ]
    assert "198 records are there before, with their extra_info.index" in caplog.text


@pytest.fixture
def mapped(monkeypatch, tmp_path):
    """Files of any size are left on the disk."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(own_data, "MAPPED_BYTES", 0)


def test_the_problems_of_a_large_file_stay_on_the_disk(mapped, tmp_path, monkeypatch):
    records = [{"question": f"{i} + 1?", "answer": i + 1, "aliases": ["one more"] * (i % 2)} for i in range(3000)]
    records += [
        {"question": "0 + 2?", "answer": "1 + 1 = 2\n#### 2"},
        {"problem_id": "own", "question": "?", "answer": 7},
    ]
    path = write(tmp_path / "a.jsonl", *records)
    expected = FileSet(path).read("train")
    named = TrainSettings(dataset_name=path)
    check_named_problems(named)
    with monkeypatch.context() as context:
        context.setattr(own_data, "read_records", None)  # it is not read again
        problems = training_problems(named)
        assert list(problems) == load_problems(path) == expected
        assert [problems[-2], *problems[5:7]] == [expected[-2], *expected[5:7]]
        for size in (5, 2500):
            drawn = training_problems(TrainSettings(dataset_name=path, dataset_size=size, dataset_seed=3))
            assert list(drawn) == load_problems(path, size=size, seed=3) == random.Random(3).sample(expected, size)
            assert training_rows(drawn)["question"] == [problem.question for problem in drawn]
            assert drawn.data.cache_files == problems.data.cache_files, "what is drawn stays on the disk"
        context.setattr(own_data, "READ_BY", ())
        with pytest.raises(TypeError, match="not callable"):
            training_problems(named)  # by other code it is read anew
    rows = training_rows(problems, "Be brief.")
    assert rows.cache_files, "the rows of a trainer are on the disk too"
    assert rows[2990:] == training_rows(expected, "Be brief.")[2990:]
    write(tmp_path / "a.jsonl", *records[:2])
    assert load_problems(path) == expected[:2], "a changed file is read anew"


def test_dapo_is_read_once_and_each_problem_stays_on_the_disk(mapped, tmp_path, monkeypatch):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(dapo_rows(100)), tmp_path / "dapo-math-17k.parquet")
    monkeypatch.setenv("COOPER_DATA_DIR", str(tmp_path))
    expected = find_domain("dapo-math-17k").read("train")
    named = TrainSettings(dataset_name="dapo-math-17k")
    check_named_problems(named)
    monkeypatch.setattr(own_data, "read_records", None)  # it is not read again
    problems = training_problems(named)
    assert len(problems) == 2 and list(problems) == load_problems("dapo-math-17k") == expected
    assert problems.data.cache_files and training_rows(problems).cache_files
    (drawn,) = training_problems(TrainSettings(dataset_name="dapo-math-17k", dataset_size=1, dataset_seed=1))
    assert drawn == random.Random(1).sample(expected, 1)[0]


def test_a_large_hub_data_set_is_read_once_until_it_changes(mapped, monkeypatch):
    import datasets

    rows = [dapo_rows(100), dapo_rows(1)[:1]]
    there = [datasets.Dataset.from_list(each) for each in rows]
    read = []
    own_problems = own_data.own_problems
    monkeypatch.setattr(own_data, "own_problems", lambda records, *a: read.append(1) or own_problems(records, *a))
    for loaded, count in zip(there, (2, 1), strict=True):
        monkeypatch.setattr(datasets, "load_dataset", lambda *_, found=loaded, **__: found)
        expected = find_domain("own/dapo").read("train")
        read.clear()
        for _ in range(2):
            problems = training_problems(TrainSettings(dataset_name="own/dapo"))
            assert list(problems) == expected and len(problems) == count and problems.data.cache_files
        assert len(read) == 1
        named = load_problems("dapo-math-17k")
        assert [p.problem_id for p in named] == [f"dapo-math-17k-{i}" for i in range(count)]


ONE_OF_TWO = """
import sys
from cooper_rl.domains import own_data, training_problems
from cooper_rl.settings.train import TrainSettings
read, own = [], own_data.read_records
own_data.MAPPED_BYTES = 0
own_data.read_records = lambda path: read.append(path) or own(path)
problems = training_problems(TrainSettings(dataset_name="dapo-math-17k"))
sys.stdout.write(f"{len(read)} read, {len(problems)} problems, {problems[1].reference_answer}")
"""


def test_of_two_processes_one_reads_dapo(tmp_path):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(dapo_rows(3000)), tmp_path / "dapo-math-17k.parquet")
    places = {"COOPER_DATA_DIR": str(tmp_path), "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    given = {"env": {**os.environ, **places}, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", ONE_OF_TWO], **given) for _ in range(2)]
    assert sorted(each.communicate(timeout=120)[0] for each in both) == [
        "0 read, 2 problems, 34",
        "1 read, 2 problems, 34",
    ]


def test_where_the_cache_cannot_be_written_a_large_file_is_read_into_memory(mapped, tmp_path, monkeypatch, caplog):
    import datasets

    path = write(tmp_path / "a.jsonl", {"question": "1 + 1?", "answer": 2})
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "a.jsonl" / "cache")
    assert training_problems(TrainSettings(dataset_name=path)) == FileSet(path).read("train")
    assert "a.jsonl: each process holds its problems, since the cache cannot be written" in caplog.text


def test_a_bad_record_of_a_large_file_is_named_with_its_line(mapped, tmp_path):
    path = write(tmp_path / "a.jsonl", {"question": "1 + 1?", "answer": 2}, {"question": "2 + 2?"})
    with pytest.raises(BadInputError) as error:
        FileSet(path).read("train")
    for read in (check_problems, lambda name, split: load_problems(name)):
        with pytest.raises(BadInputError) as again:
            read(path, "train")
        assert str(again.value) == str(error.value) and f"{path}:2" in str(error.value)


def test_several_answers_in_a_file(tmp_path):
    rows = [{"question": "1 + 1?", "answer": ["2", "two"], "aliases": ["II"]}, {"question": "2?", "answer": [4]}]
    found = load_problems(write(tmp_path / "a.jsonl", *rows))
    assert [p.references for p in found] == [("2", "two", "II"), ("4",)]
    sample = Sample.of(found[0], "It is two.")
    assert sample.references == found[0].references and sample.reference_answer == "2"


def test_a_record_without_an_id_has_its_place_as_id(tmp_path):
    rows = [{"question": "1?", "answer": 1, "problem_id": own} for own in (None, 0, "p")]
    name = write(tmp_path / "a.jsonl", *rows)
    assert [p.problem_id for p in load_problems(name)] == [f"{name}:1", "0", "p"]


def test_a_column_of_ones_own_is_named(tmp_path):
    name = write(tmp_path / "a.jsonl", {"problem": "1 + 1?", "solution": "It is 2.", "answer": "2"})
    with pytest.raises(
        BadInputError, match=r"a\.jsonl:1: answer and solution may both be the reference answer; set ref"
    ):
        check_problems(name, "train")
    check_problems(name, "train", None, "answer")
    assert [p.reference_answer for p in load_problems(name, reference_column="answer")] == ["2"]
    with pytest.raises(BadInputError, match=r"a\.jsonl:1: no final, where the reference answer should be"):
        load_problems(name, reference_column="final")
    with pytest.raises(BadInputError, match="nano: no file or hub id, so it has no column 'answer'"):
        load_problems("nano", reference_column="answer")
    with pytest.raises(BadInputError, match=r"a\.jsonl: no hub id .*, so it has no configuration 'main'"):
        load_problems(name, config="main")


CSV = b'\xef\xbb\xbf,question,answer,note\r\n0,"One, and\r\none?",2,\r\n\r\n1,2 + 2?,4,"a ""b"""\r\n'


def test_csv_is_read_as_spreadsheets_write_it(tmp_path):
    (tmp_path / "a.csv").write_bytes(CSV)
    assert list(read_records(tmp_path / "a.csv")) == [
        (f"{tmp_path / 'a.csv'}:2", {"question": "One, and\r\none?", "answer": "2", "note": None}),
        (f"{tmp_path / 'a.csv'}:5", {"question": "2 + 2?", "answer": "4", "note": 'a "b"'}),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"question,answer\n1?,1\n2?,2,3\n", r"a\.csv:3: 3 cells, where the header has 2"),
        (b"question,answer\n1?\n", r"a\.csv:2: 1 cells, where the header has 2"),
        (b"answer,answer\n1,2\n", r"a\.csv:1: two columns are named 'answer'"),
        (b'question,answer\n1?,1\n"2?,2\n', r"a\.csv:3: not CSV \(unexpected end of data\)"),
        (b"question,answer\n1?,1\n\xe9?,2\n", r"a\.csv:3: not a text in UTF-8 \(byte 0xe9\)"),
        (b"question,answer\n1?,\n", r"a\.csv:2: the record needs one of reference_answer"),
        (b"question;answer\n1?;1\n", r"a\.csv:2: the record needs one of question, .*; it has question;answer$"),
        (b"question,answer\n", "the file has no problem with an answer"),
        (b"", "the file has no problem with an answer"),
    ],
)
def test_a_bad_csv_is_named_with_its_line(tmp_path, content, message):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(BadInputError, match=message) as raised:
        check_problems(str(tmp_path / "a.csv"), "train")
    assert "\n" not in str(raised.value)


def test_a_damaged_csv_gz_is_one_line(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"question,answer\n1?,1\n")[:-9])
    with pytest.raises(BadInputError, match=r"a\.csv\.gz: not a whole gzip file"):
        load_problems(str(tmp_path / "a.csv.gz"))


def test_labelled_triples_in_csv(tmp_path):
    (tmp_path / "a.csv").write_text("question,reference,completion,correct\n1?,1,It is 1.,True\n1?,1,It is 2.,0\n")
    assert [(t.completion, t.correct) for t in read_triples(tmp_path / "a.csv")] == [
        ("It is 1.", True),
        ("It is 2.", False),
    ]


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
    "dapo-math-17k": (
        {"prompt": [{"role": "user", "content": "Q"}], "reward_model": {"ground_truth": "2", "style": "rule"}},
        ("Q", "2"),
    ),
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


def test_a_configuration_of_a_hub_data_set(monkeypatch):
    import datasets

    def load(path, configuration, *, split, data_files):
        if configuration is None:
            raise ValueError("Config name is missing.\nPlease pick one among the available configs: ['main', 'other']")
        return [{"question": f"{configuration} {split}?", "solution": "no", "gold": "2"}]

    monkeypatch.setattr(datasets, "load_dataset", load)
    (problem,) = load_problems("owner/name", split="dev", config="main", reference_column="gold")
    assert (problem.question, problem.reference_answer, problem.problem_id) == ("main dev?", "2", "owner/name[0]")
    with pytest.raises(
        BadInputError, match=r"owner/name: name one of its configurations, .*dataset_config .*'main'"
    ) as no:
        load_problems("owner/name")
    assert "\n" not in str(no.value)


def test_a_recipe_s_configurations_and_columns_reach_both_data_sets(monkeypatch):
    import datasets

    asked = []

    def load(path, configuration, *, split, data_files):
        asked.append((path, configuration, split))
        return [{"question": f"{split}?", "answer": "1", "a": {"b": "2"}, "c": "3"}]

    monkeypatch.setattr(datasets, "load_dataset", load)
    data = {"dataset_name": "owner/name", "dataset_config": "main", "reference_column": "a.b"}
    heldout = {f"heldout_{name}": value for name, value in {**data, "dataset_config": "other"}.items()}
    named = TrainSettings.from_recipe({**data, **heldout, "heldout_reference_column": "c", "arm": "rule"})
    check_named_problems(named)
    assert [p.reference_answer for p in (*training_problems(named), *heldout_problems(named))] == ["2", "3"]
    assert asked == [("owner/name", "main", "train"), ("owner/name", "other", "test")]
    assert heldout_problems(TrainSettings.from_recipe({"arm": "rule"})) == []
    with pytest.raises(BadInputError, match="nano: no hub id"):
        check_named_problems(TrainSettings.from_recipe({"arm": "rule", "dataset_config": "main"}))


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
