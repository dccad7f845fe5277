"""Looks for a text in every byte of every file under a folder."""

from pathlib import Path


def files_holding(folder: Path, text: str) -> list[str]:
    """The files, by path in the folder, that hold the text as UTF-8 or UTF-16, upper or lower case."""
    wanted = {spelt.encode(code) for spelt in (text, text.lower()) for code in ("utf-8", "utf-16-le", "utf-16-be")}
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files if any(each in path.read_bytes() for each in wanted)]
