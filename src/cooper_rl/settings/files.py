"""Finds the model or file that a setting names, and checks that it can be used."""

from __future__ import annotations

import json
import os
from pathlib import Path

from cooper_rl.errors import BadInputError, MissingFileError, suggest

PACKAGE = Path(__file__).parents[1]
EMBEDDED = {  # the policies and reward models that the package ships, by their world's name
    name: {part: PACKAGE / "domains" / "nano" / "shipped" / folder / part for part in ("policy", "reward_model")}
    for name, folder in (("nano", "arithmetic"), ("nano-weekdays", "weekdays"))
}
ADAPTED = {  # shipped reward models, without a base
    name: PACKAGE / "verifyrm" / "shipped" / name for name in ("smollm2-135m", "smollm2-135m-beyond")
}
SUFFIXES = (".jsonl", ".json", ".parquet", ".csv", ".gz")  # of files with data
OPTIMISER = "optimizer.safetensors"  # beside the reward model of a checkpoint; it holds no weights of a model
ADAPTERS = "adapters"  # the folder of a reward model's adapters, apart from the policy's own


def resolve_model(name: str, part: str) -> str:
    """The folder of a model that the package ships (`EMBEDDED`, `ADAPTED`), or of a hub's model in models/ here.

    `scripts/fetch_model.py` writes models/NAME, with the hub's name in lower case. Any other name is returned as it is.

    Args:
        part: `policy` or `reward_model`, for the names that have both.
    """
    if name in EMBEDDED:
        return str(EMBEDDED[name][part])
    if name in ADAPTED:
        return str(ADAPTED[name])
    here = Path("models", name.rpartition("/")[2].lower())
    hub = not looks_local(name) and not Path(name).parent.exists()  # runs/NAME is a path where there is a folder runs
    return str(here) if hub and here.is_dir() else name


def is_adapters(folder: str | Path) -> bool:
    """Whether a folder holds a reward model's adapters in place of its weights."""
    weights = [file for file in Path(folder).glob("*.safetensors") if file.name != OPTIMISER]
    return Path(folder, ADAPTERS, "adapter_config.json").is_file() and not weights


def base_of(folder: str | Path) -> str:
    """The model that a folder of adapters goes on; any other folder is itself.

    Raises:
        BadInputError: the adapters name no base, or themselves.
    """
    if not is_adapters(folder):
        return str(folder)
    written = written_base(folder)
    base = resolve_model(written, "policy")
    if not base or Path(base).resolve() == Path(folder).resolve():
        raise BadInputError(f"{folder}: its adapters name no base model (base_model_name_or_path is {written!r})")
    return base


def written_base(folder: str | Path) -> str:
    """The model that a folder of adapters names as its base; "" where it names none."""
    written = json.loads(Path(folder, ADAPTERS, "adapter_config.json").read_text())
    return str(written.get("base_model_name_or_path") or "")


def local_file(name: str) -> Path | None:
    """The file of this name here or, if it is not here, in COOPER_DATA_DIR; None if it is in neither."""
    places = [Path(name)]
    if os.environ.get("COOPER_DATA_DIR"):
        places.append(Path(os.environ["COOPER_DATA_DIR"]) / name)
    return next((path for path in places if path.is_file()), None)


def looks_local(name: str) -> bool:
    """Whether a name is a path rather than a hub id."""
    return name.startswith(("/", ".", "~")) or name.count("/") != 1


def check_model_folder(name: str | Path, key: str = "") -> None:
    """Refuses a model that does not exist, here or on the hub, and a folder without safetensors.

    Args:
        key: the setting that names the model, for the message.

    Raises:
        MissingFileError: there is no such folder, or the hub has no such model or cannot be reached.
        BadInputError: the folder has pickled weights only, or no weights.
    """
    folder, name = Path(name), str(name)
    where = f"{key}: {name}" if key else name
    if not folder.exists():
        if looks_local(name):
            raise MissingFileError(f"{where}: no such model folder{suggest(name, (*EMBEDDED, *ADAPTED))}")
        check_hub(name, where)
        return
    if name.endswith(".gguf") or any(folder.glob("*.safetensors")) or any(folder.glob("adapters/*.safetensors")):
        return
    pickles = sorted([*folder.glob("*.bin"), *folder.glob("*.pt"), *folder.glob("*.pth")])
    what = f"{pickles[0].name} is pickled and is not loaded" if pickles else "it has no *.safetensors"
    raise BadInputError(f"{where}: {what}; load the model where it was made and write it with save_pretrained")


def check_hub(name: str, where: str) -> None:
    """Refuses a hub's model whose configuration is neither in the cache nor to be had."""
    from transformers.utils import cached_file

    try:
        cached_file(name, "config.json")
    except OSError as error:
        why = str(error).splitlines()[0].rstrip(".")
        here = f"models/{name.rpartition('/')[2].lower()}"
        raise MissingFileError(
            f"{where}: not available from the hub ({why}); you can save it as {here} in the current folder"
        ) from error


def check_policy_folder(name: str, key: str) -> None:
    """As `check_model_folder`; a reward model's adapters are refused too.

    Raises:
        MissingFileError, BadInputError: as `check_model_folder`; or these are adapters of a reward model.
    """
    check_model_folder(name, key)
    if is_adapters(name):
        raise BadInputError(f"{key}: {name}: adapters of a reward model; name a causal language model")


def check_file(name: str, key: str) -> None:
    """Refuses a data file that does not exist or is empty.

    Raises:
        MissingFileError: the file is neither here nor in COOPER_DATA_DIR.
        BadInputError: the file is empty.
    """
    path = local_file(name)
    if path is None:
        raise MissingFileError(f"{key}: {name}: no such file, here or in COOPER_DATA_DIR")
    if path.stat().st_size == 0:
        raise BadInputError(f"{key}: {name}: the file is empty")
