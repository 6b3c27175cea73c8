"""How many instructions of the processor a call takes, counted one by one, where the machine has no counters for it.

A copy of the process makes the call and is stopped by ptrace after each instruction, at some hundred thousand a second.
So the count does not depend on what else the machine does.  Linux only.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

_TRACE_ME, _CONTINUE, _SINGLE_STEP = 0, 7, 9


def instructions(function: Callable[[], object]) -> int:
    """The instructions of a call, with those of Python around it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    child = os.fork()
    if child == 0:
        libc.ptrace(_TRACE_ME, 0, None, None)
        own = os.getpid()
        os.kill(own, signal.SIGSTOP)
        function()
        os.kill(own, signal.SIGSTOP)
        os._exit(0)
    os.waitpid(child, 0)
    count = 0
    while True:
        if libc.ptrace(_SINGLE_STEP, child, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace refuses to stop the process after each instruction")
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            raise RuntimeError(f"the call ended the process: status {status}")
        if os.WSTOPSIG(status) == signal.SIGSTOP:
            break
        count += 1
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return count
