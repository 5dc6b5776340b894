"""How a rank of several ends: as Python does, but without Python being taken apart (see `cooper_rl.distributed`)."""

import os
import subprocess
import sys

import pytest

from ranks import TWO_RANKS

SCRIPT = """
from cooper_rl.distributed import RankExit

ending = RankExit()

import atexit, os, sys, threading, time

import torch
from accelerate import PartialState


class Kept:
    def __del__(self, write=os.write):
        write(1, b"[taken apart]")


def late():
    time.sleep(0.5)
    os.write(1, b"[thread]")


kept, code = Kept(), int(sys.argv[1])
rank = PartialState(cpu=True).process_index
atexit.register(lambda: os.write(1, b"[exit handler]" + b"[all there]" * os.path.exists(sys.argv[2])))
threading.Thread(target=late).start()
if rank == 1 and not code:
    time.sleep(1)
    open(sys.argv[2], "w").close()
sys.stdout.write("[flushed]")
ending.leave(code)
sys.stdout.write("[returned]")
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def run(*command):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )


def test_a_rank_ends_as_python_does_but_is_not_taken_apart(script, tmp_path):
    done = run(*TWO_RANKS, script, 0, tmp_path / "late")
    assert done.returncode == 0, done.stderr
    for mark in ("[thread]", "[exit handler]", "[flushed]", "[all there]"):
        assert done.stdout.count(mark) == 2, mark
    assert "[taken apart]" not in done.stdout and "[returned]" not in done.stdout


def test_a_rank_with_an_error_waits_for_none(script, tmp_path):
    done = run(*TWO_RANKS, script, 3, tmp_path / "late")
    assert done.returncode != 0 and "exitcode  : 3" in done.stderr
    assert "[taken apart]" not in done.stdout


def test_alone_it_returns(script, tmp_path):
    done = run(sys.executable, script, 0, tmp_path / "late")
    assert done.returncode == 0 and "[returned]" in done.stdout and "[taken apart]" in done.stdout
