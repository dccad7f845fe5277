"""The C library's heap, where models leave gaps. Both calls do nothing where the library is not glibc."""

import ctypes

_M_ARENA_MAX = -8  # malloc.h


def keep_one_arena() -> None:
    """Let all threads share one heap, from before the second thread starts: gaps that one leaves, others fill.

    By default each has its own. With the encoder and 10,000 vectors that took 5 to 9 MiB more after searches, and some
    60 MiB more after a few hundred stores, while a call took as much processor time.
    """
    _call("mallopt", _M_ARENA_MAX, 1)


def give_back() -> None:
    """Return what is unused to the system, about 10 ms; glibc keeps what lies below something in use."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):  # another C library
        return
    function(*arguments)
