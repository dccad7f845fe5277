"""The C library's heap, where models leave gaps. Both calls do nothing where the library is not glibc."""

import ctypes

_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3  # malloc.h
_OWN_PAGES_FROM = 4 * 1024 * 1024  # bytes; with a quarter of it records take 5 % longer to encode


def keep_small() -> None:
    """Let all threads share one heap, from before the second thread starts: gaps that one leaves, others fill. And let
    large blocks lie beside it, from where they go back to the system at once.

    By default each thread has a heap of its own. With the encoder and 10,000 vectors that took 5 to 9 MiB more after
    searches, and some 60 MiB more after a few hundred stores, while a call took as much processor time. And each large
    block that is freed makes glibc take larger ones from the heap, up to 32 MiB: 3 MiB more.
    """
    _call("mallopt", _M_ARENA_MAX, 1)
    _call("mallopt", _M_MMAP_THRESHOLD, _OWN_PAGES_FROM)


def give_back() -> None:
    """Return what is unused to the system, about 10 ms; glibc keeps what lies below something in use."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):  # another C library
        return
    function(*arguments)
