"""A signal ends a run after its step, with a checkpoint."""

from __future__ import annotations

import logging
import os
import signal
import threading
from types import FrameType
from typing import Any

logger = logging.getLogger(__name__)


class StopSignals:
    """Takes note of signals while a run is trained. Handlers of somebody else's are left alone.

    Args:
        numbers: these signals are taken. A second one ends the run at once.
    """

    def __init__(self, *numbers: signal.Signals) -> None:
        self.numbers = numbers
        self.received = 0  # the number of the signal that this process has received
        self.before: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Takes the signals from now on. Python lets only the main thread do so."""
        self.received = 0
        if threading.current_thread() is not threading.main_thread():
            return
        for number in self.numbers:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                self.before[number] = signal.signal(number, self._receive)

    def restore(self) -> None:
        """Puts the handlers back that were there before."""
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}

    def _receive(self, number: int, frame: Any) -> None:
        if self.received or not trains(frame):  # the second one, or training has ended with an error
            self.restore()
            os.kill(os.getpid(), number)
            return
        self.received = number
        if number == signal.SIGINT:
            logger.warning("stopping after this step, with a checkpoint; Ctrl-C again stops at once")


def trains(frame: FrameType | None) -> bool:
    """Whether a method `train` is at work, in a stack of calls."""
    while frame is not None and frame.f_code.co_name != "train":
        frame = frame.f_back
    return frame is not None
