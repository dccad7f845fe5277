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

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="folder that holds the package agent_memory")
    parser.add_argument("--locomo", type=Path, nargs="*", default=[], help="LoCoMo files, or folders of them")
    options = parser.parse_args()
    sys.path.insert(0, str(options.root.resolve()))
    from engine import Engine
    from measure import Scored, paired, score, table
    from sets import LabelledSet, load_coding, load_locomo
    from vectors import Embedded

    from agent_memory.encoder.textmodel import shipped_vocabulary
    from agent_memory.retrieval.concepts import shipped_concepts
    from agent_memory.retrieval.weights import WEIGHTS
    from agent_memory.store.stems import Stemmer

    vectors, stemmer = Embedded(Path(tempfile.gettempdir()) / "agent-memory-eval-vectors.npz"), Stemmer()
    whole = {"concepts": shipped_concepts(stemmer.stems), "known_words": frozenset(shipped_vocabulary())}
    w = WEIGHTS
    alone = {"before_one": 0, "before_two": 0, "after_one": 0, "after_two": 0}
    parts: dict[str, dict[str, object]] = {
        "spelling and compounds": {"spelling": False},
        "spelling's list of known words": {"known_words": frozenset()},
        "translations": {"concepts": None},
        "floor of the best cosine": {"weights": replace(w, cosine_floor=0.0)},
        "newest of near-identical": {"weights": replace(w, same_fact_cosine=2.0)},
        "index terms": {"weights": replace(w, bm25_terms=0.0)},
        "heavier title": {"weights": replace(w, bm25_title=1.0)},
        "dropping common terms": {"weights": replace(w, common_share=1.0)},
        "neighbours": {"weights": replace(w, **alone)},
        "questions give and cost": {"weights": replace(w, question_gives=0.0, question_costs=0.0)},
        "session's best": {"weights": replace(w, session=0.0)},
        "speaker": {"weights": replace(w, speaker=0.0)},
        "length": {"weights": replace(w, length=0.0)},
        "when": {"weights": replace(w, when=0.0)},
    }
    files = [file for path in options.locomo for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    groups: dict[str, Sequence[LabelledSet]] = {"coding": [load_coding()], "locomo": [load_locomo(f) for f in files]}

    def measured(sets: Sequence[LabelledSet], changes: dict[str, object]) -> list[Scored]:
        found: list[Scored] = []
        for labelled in sets:
            engine = Engine(
                labelled, vectors.records([r.text for r in labelled.records]), stemmer=stemmer, **{**whole, **changes}
            )
            queries = [query for query in labelled.queries if query.relevant]
            encoded = vectors.queries([engine.plan(query).text for query in queries])
            for query, vector in zip(queries, encoded, strict=True):
                hits, _ = engine.ranked(query, vector, "score", 50)
                found.append(score(query.id, query.kind, [hit.id for hit in hits], query.relevant))
        return found

    names = [name for name, sets in groups.items() if sets]
    base = {name: measured(groups[name], {}) for name in names}
    rows = [["without", *(f"{name} {figure}" for name in names for figure in ("MRR", "recall@5"))]]
    for part, changes in parts.items():
        cells = []
        for name in names:
            less = measured(groups[name], changes)
            cells += [str(paired(less, base[name], figure)) for figure in ("MRR", "recall@5")]
        rows.append([part, *cells])
        print(f"{part} done", file=sys.stderr)
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
