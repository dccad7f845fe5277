"""What each part of the default ranking is worth: the ranking without it, against the whole, with paired intervals.

    python tools/retrieval-eval/ablate.py . --locomo DIR-OR-FILES

A negative difference means that the part helps.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
if TYPE_CHECKING:
    from measure import Scored
    from sets import LabelledSet
    from vectors import Vectors

Changes = dict[str, Any]
"""Arguments of `Engine` that differ from the product's."""


def parts() -> dict[str, Changes]:
    """What is left out, by name."""
    from agent_memory.retrieval.weights import WEIGHTS

    def weights(**changes: float) -> Changes:
        return {"weights": replace(WEIGHTS, **changes)}

    return {
        "spelling and compounds": {"spelling": False},
        "spelling's list of known words": {"known_words": frozenset()},
        "translations": {"concepts": None},
        "floor of the best cosine": weights(cosine_floor=0.0),
        "newest of near-identical": weights(same_fact_cosine=2.0),
        "index terms": weights(bm25_terms=0.0),
        "heavier title": weights(bm25_title=1.0),
        "dropping common terms": weights(common_share=1.0),
        "candidates beside the best": weights(around=0),
        "neighbours": weights(before_one=0, before_two=0, after_one=0, after_two=0),
        "questions give and cost": weights(question_gives=0.0, question_costs=0.0),
        "session's best": weights(session=0.0),
        "speaker": weights(speaker=0.0),
        "length": weights(length=0.0),
        "when": weights(when=0.0),
    }


def measured(sets: Sequence["LabelledSet"], vectors: "Vectors", arguments: Changes) -> list["Scored"]:
    """Figures of the default ranking with these arguments, over all queries that have an answer."""
    from engine import Engine
    from measure import score

    found = []
    for labelled in sets:
        engine = Engine(labelled, vectors.records([record.text for record in labelled.records]), **arguments)
        queries = [query for query in labelled.queries if query.relevant]
        encoded = vectors.queries([engine.plan(query).text for query in queries])
        for query, vector in zip(queries, encoded, strict=True):
            hits, _ = engine.ranked(query, vector, "score", 50)
            found.append(score(query.id, query.kind, [hit.id for hit in hits], query.relevant))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="folder that holds the package agent_memory")
    parser.add_argument("--locomo", type=Path, nargs="*", default=[], help="LoCoMo files, or folders of them")
    options = parser.parse_args()
    sys.path.insert(0, str(options.root.resolve()))
    from measure import paired, table
    from sets import load_coding, load_locomo
    from vectors import Embedded

    from agent_memory.encoder.textmodel import shipped_vocabulary
    from agent_memory.retrieval.concepts import shipped_concepts
    from agent_memory.store.stems import Stemmer

    vectors, stemmer = Embedded(Path(tempfile.gettempdir()) / "agent-memory-eval-vectors.npz"), Stemmer()
    known = frozenset(shipped_vocabulary())
    whole: Changes = {"concepts": shipped_concepts(stemmer.stems), "known_words": known, "stemmer": stemmer}
    files = [file for path in options.locomo for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    groups = {"coding": [load_coding()], "locomo": [load_locomo(file) for file in files]}
    groups = {name: sets for name, sets in groups.items() if sets}
    base = {name: measured(sets, vectors, whole) for name, sets in groups.items()}
    rows = [["without", *(f"{name} {figure}" for name in groups for figure in ("MRR", "recall@5"))]]
    for part, changes in parts().items():
        less = {name: measured(sets, vectors, whole | changes) for name, sets in groups.items()}
        cells = (str(paired(less[name], base[name], figure)) for name in groups for figure in ("MRR", "recall@5"))
        rows.append([part, *cells])
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
