"""Parts by name, import path and entry point."""

import subprocess
import sys
from fractions import Fraction

import pytest

from cooper_rl.errors import BadInputError
from cooper_rl.method.build import check_parts
from cooper_rl.parts import find, names, optional
from cooper_rl.settings.train import TrainSettings

GROUP = "cooper_rl.negative_sources"
KNOWN = {"third": "fractions:Fraction", "shuffle": "random:shuffle"}


def complaint(name, known=KNOWN):
    with pytest.raises(BadInputError) as caught:
        find(GROUP, name, known)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a distribution that offers entry points: `installed("one", "name = module:Name")`."""

    def install(distribution, *points):
        folder = tmp_path / f"{distribution}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{GROUP}]\n" + "".join(f"{point}\n" for point in points))

    monkeypatch.syspath_prepend(str(tmp_path))
    return install


def test_a_part_is_found_by_name_and_by_import_path():
    assert find(GROUP, "third", KNOWN) is Fraction
    assert find(GROUP, "fractions:Fraction", {}) is Fraction
    assert find(GROUP, "fractions:Fraction.from_float", {}) == Fraction.from_float


def test_a_part_is_found_by_entry_point_and_cannot_replace_one_of_ours(installed):
    installed("theirs", "half = fractions:Fraction", "shuffle = fractions:Fraction")
    assert find(GROUP, "half", KNOWN) is Fraction
    assert find(GROUP, "shuffle", KNOWN).__name__ == "shuffle"
    assert names(GROUP, KNOWN) == ["third", "shuffle", "half"]
    with pytest.raises(BadInputError):
        find("cooper_rl.domains", "half", {})


def test_a_name_that_two_distributions_offer_is_not_guessed(installed):
    installed("one", "half = fractions:Fraction")
    installed("two", "half = decimal:Decimal")
    assert "fractions:Fraction" in complaint("half")
    assert "decimal:Decimal" in complaint("half")


def test_an_unknown_name_names_what_is_known_and_the_nearest():
    said = complaint("shufle")
    assert "no negative source 'shufle': did you mean shuffle?; known are third, shuffle" in said
    assert "module:Name" in said
    assert "did you mean" not in complaint("zzzz")
    assert "none is known by name" in complaint("zzzz", {})


def test_a_path_that_leads_nowhere_says_where_it_ends():
    assert "no_such_module cannot be imported (ModuleNotFoundError: " in complaint("no_such_module:Part")
    assert "PYTHONPATH" in complaint("no_such_module:Part")
    assert "fractions has no Fractoin; did you mean Fraction?" in complaint("fractions:Fractoin")
    assert "fractions has no zzzz; it defines Fraction" in complaint("fractions:zzzz")
    for path in ("fractions:", ":Fraction", "fractions:Fraction:x", "my folder:Part"):
        assert "write it as module:Name" in complaint(path)


def test_a_module_that_fails_on_import_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken_part.py").write_text("raise RuntimeError('first\\nsecond')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "broken_part cannot be imported (RuntimeError: first)" in complaint("broken_part:Part")


class NoSource:
    pass


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"negative_sources": {f"{__name__}:NoSource": 1}}, "derive it from .*method.negatives.NegativeSource"),
        ({"monitors": [f"{__name__}:NoSource"]}, "NoSource is no Monitor; derive it from .*method.monitor.Monitor"),
        ({"reward": f"{__name__}:NoSource"}, "NoSource is no Reward; derive it from .*method.reward.Reward"),
    ],
)
def test_a_part_of_another_kind_is_refused_before_a_model_is_loaded(settings, message):
    recipe = {"reward": "score", "reward_model_name_or_path": "nano", **settings}
    with pytest.raises(BadInputError, match=message):
        check_parts(TrainSettings.from_recipe({"arm": "cooper", **recipe} if "reward" not in settings else recipe))


def test_the_lookup_imports_no_torch():
    code = (
        "import sys, cooper_rl.parts\nassert 'torch' not in sys.modules\nassert 'importlib.metadata' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_not_installed_names_the_extra_that_brings_it(tmp_path, monkeypatch):
    assert optional("fractions", extra="x", needed_by="x").Fraction is Fraction
    with pytest.raises(
        BadInputError, match=r"^a world needs no_such_library: in a clone of cooper-rl, pip install '\.\[worlds\]'$"
    ):
        optional("no_such_library.part", extra="worlds", needed_by="a world")
    (tmp_path / "half_there.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        optional("half_there", extra="worlds", needed_by="a world")
