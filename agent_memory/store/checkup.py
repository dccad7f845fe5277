"""Is the database sound? Structure, references, and whether the full-text index holds exactly the live records."""

from itertools import islice

import apsw

SHOWN_MAX = 5  # faults of one kind; a damaged file has thousands


def faults(conn: apsw.Connection) -> list[str]:
    """What is wrong, each in a few words without content; empty when the database is sound.

    Works on a read-only connection beside a running server. `quick_check` also walks the full-text index.
    """
    try:
        found = [str(row[0]) for row in conn.execute(f"PRAGMA quick_check({SHOWN_MAX})") if row[0] != "ok"]
        # columns: table, rowid, parent table, number of the constraint
        found += [
            f"a row of {row[0]} refers to a row of {row[2]} that is gone"
            for row in islice(conn.execute("PRAGMA foreign_key_check"), SHOWN_MAX)
        ]
        if not found:
            found += _index_faults(conn)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        found = [f"not readable ({type(error).__name__})"]
    except apsw.SQLError:
        found = ["tables are missing"]
    return found


def _index_faults(conn: apsw.Connection) -> list[str]:
    row = conn.execute(
        "SELECT (SELECT count(*) FROM records WHERE status IN ('active', 'candidate')),"
        " (SELECT count(*) FROM records_fts_docsize),"
        " (SELECT count(*) FROM records_fts_docsize WHERE id NOT IN"
        " (SELECT seq FROM records WHERE status IN ('active', 'candidate')))"
    ).fetchone()
    live, indexed, strangers = (int(str(value)) for value in row or (0, 0, 0))
    if live == indexed and not strangers:
        return []
    return [f"the full-text index holds {indexed} records, {strangers} of them not live, for {live} live ones"]
