"""The labelled sets: records, queries and judgements in one shape, whatever file they come from."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CODING = HERE / "data" / "coding"


@dataclass(frozen=True)
class Record:
    id: str
    namespace: str
    type: str
    title: str
    content: str
    created: str
    live: bool = True
    session: str = ""
    position: int = 0

    @property
    def text(self) -> str:
        """What the encoder reads of a record (the seed's rule)."""
        return f"{self.title}\n{self.content}"


@dataclass(frozen=True)
class Query:
    id: str
    text: str
    scopes: frozenset[str]
    relevant: tuple[str, ...]  # empty: nothing in the set answers it
    kind: str


@dataclass(frozen=True)
class LabelledSet:
    name: str
    records: tuple[Record, ...]
    queries: tuple[Query, ...]


def load_coding(folder: Path = CODING, queries: str = "dev_queries.jsonl") -> LabelledSet:
    """Notes of coding agents; the scope of a query is its namespace, the linked projects and `global`."""
    links = json.loads((folder / "scopes.json").read_text(encoding="utf-8"))["project_links"]
    records = tuple(
        Record(
            id=row["id"],
            namespace=row["namespace"],
            type=row["type"],
            title=row["title"],
            content=row["content"],
            created=row["created"],
            live=row["status"] in ("active", "candidate"),
        )
        for row in _lines(folder / "records.jsonl")
    )
    asked = tuple(
        Query(
            id=row["id"],
            text=row["query"],
            scopes=frozenset({row["namespace"], *links.get(row["namespace"], ()), "global"}),
            relevant=tuple(row["relevant"]),
            kind=row["kind"],
        )
        for row in _lines(folder / queries)
    )
    return LabelledSet("coding", records, asked)


def load_locomo(file: Path) -> LabelledSet:
    """One LoCoMo conversation (Maharana et al., ACL 2024; CC BY-NC 4.0, measured by path, never copied): a record is a
    turn, a session one of the conversation's; the questions of category 1 to 4 are answered by their evidence turns."""
    data = json.loads(file.read_text(encoding="utf-8"))
    records: list[Record] = []
    number = 1
    while f"session_{number}_date_time" in data:
        when = data[f"session_{number}_date_time"]
        for position, turn in enumerate(data.get(f"session_{number}", ())):
            shares = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            records.append(
                Record(
                    id=f"{len(records):05d}:{turn['dia_id']}",  # ids sort by time, like the product's
                    namespace="local/conversation",
                    type="fact",
                    title=f"{turn['speaker']} {when}",
                    content=turn["text"] + shares,
                    created=f"{number:04d}",
                    session=f"session {number}",
                    position=position,
                )
            )
        number += 1
    by_turn = {record.id.split(":", 1)[1]: record.id for record in records}
    queries = []
    for place, row in enumerate(data["qa"]):
        turns = re.findall(r"D\d+:\d+", " ".join(row.get("evidence", ())))
        relevant = tuple(sorted({by_turn[turn] for turn in turns if turn in by_turn}))
        if row["category"] in (1, 2, 3, 4) and relevant:
            scopes = frozenset({"local/conversation"})
            kind = f"category {row['category']}"
            queries.append(Query(f"{file.stem}/{place}", row["question"], scopes, relevant, kind))
    return LabelledSet(f"locomo {file.stem}", tuple(records), tuple(queries))


def load_snapshot(file: Path) -> LabelledSet:
    """Records and queries in one JSON file, as `fetch.py` writes it: {records: [...], queries: [...]}."""
    data = json.loads(file.read_text(encoding="utf-8"))
    records = tuple(Record(**row) for row in data["records"])
    queries = tuple(
        Query(row["id"], row["text"], frozenset(row["scopes"]), tuple(row["relevant"]), row["kind"])
        for row in data["queries"]
    )
    return LabelledSet(file.stem, records, queries)


def _lines(file: Path) -> list[dict[str, object]] | list:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
