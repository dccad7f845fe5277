"""Runs the rankers over sets and prints the tables."""

from collections.abc import Sequence
from pathlib import Path

from engine import Engine
from measure import FIGURES, Scored, by_kind, mean, paired, score, table
from plot import draw
from sets import LabelledSet
from vectors import Vectors

from agent_memory.encoder.textmodel import shipped_vocabulary
from agent_memory.retrieval.concepts import shipped_concepts
from agent_memory.store.stems import Stemmer

LIMIT = 50  # the product's largest
BASE = "fts5"  # intervals are against the product's full-text ranking


def report(
    title: str, sets: Sequence[LabelledSet], vectors: Vectors, rankers: Sequence[str], plots: Path | None
) -> None:
    """Print the tables of one group of sets; write its plots."""
    results: dict[str, list[Scored]] = {ranker: [] for ranker in rankers}
    weak: list[tuple[bool, bool]] = []
    stemmer = Stemmer()
    concepts, known = shipped_concepts(stemmer.stems), frozenset(shipped_vocabulary())
    for labelled in sets:
        encoded = vectors.records([record.text for record in labelled.records])
        full = Engine(labelled, encoded, concepts=concepts, known_words=known, stemmer=stemmer)
        plain = Engine(labelled, encoded, stemmer=stemmer, spelling=False)
        for ranker in rankers:
            results[ranker] += _scored(ranker, plain if ranker.startswith("plain") else full, labelled, vectors, weak)
    answered = results[BASE]
    print(f"## {title}: {sum(len(s.records) for s in sets)} records, {len(answered)} queries with an answer\n")
    rows = [["ranker", *FIGURES, f"MRR against {BASE}", f"recall@5 against {BASE}"]]
    for ranker, scored in results.items():
        against = ["", ""] if ranker == BASE else [str(paired(scored, answered, f)) for f in ("MRR", "recall@5")]
        rows.append([ranker, *(f"{mean(scored, figure):.3f}" for figure in FIGURES), *against])
    print(table(rows) + "\n")
    if {"rrf", "score"} <= results.keys():
        gains = [f"{figure} {paired(results['score'], results['rrf'], figure)}" for figure in FIGURES]
        print("score against rrf: " + ", ".join(gains) + "\n")
    print(table(_kinds(results, rankers)) + "\n")
    if weak:
        _print_weak(weak)
    if plots is not None:
        plots.mkdir(parents=True, exist_ok=True)
        for figure in ("MRR", "recall@5"):
            file = plots / f"{title}-{figure.replace('@', '-at-').lower()}.svg"
            file.write_text(draw(title, results, figure), encoding="utf-8")


def _scored(
    ranker: str, engine: Engine, labelled: LabelledSet, vectors: Vectors, weak: list[tuple[bool, bool]]
) -> list[Scored]:
    texts = [engine.plan(query).text for query in labelled.queries]
    encoded = vectors.queries(texts)
    found = []
    for query, vector in zip(labelled.queries, encoded, strict=True):
        if ranker == "cosine":
            ranked = engine.nearest(query, vector, LIMIT)
        else:
            name = ranker.removeprefix("plain ")
            hits, is_weak = engine.ranked(query, vector, name, LIMIT)  # type: ignore[arg-type]
            ranked = [hit.id for hit in hits]
            if ranker == "score":
                weak.append((bool(query.relevant), is_weak))
        if query.relevant:
            found.append(score(query.id, query.kind, ranked, query.relevant))
    return found


def _kinds(results: dict[str, list[Scored]], rankers: Sequence[str]) -> list[list[str]]:
    rows = [["kind", "queries", *(f"{r} MRR / recall@5" for r in rankers), f"{rankers[-1]} against {BASE}, MRR"]]
    for kind, base in by_kind(results[BASE]).items():
        of = {ranker: by_kind(results[ranker])[kind] for ranker in rankers}
        cells = [f"{mean(of[r], 'MRR'):.3f} / {mean(of[r], 'recall@5'):.3f}" for r in rankers]
        rows.append([kind, str(len(base)), *cells, str(paired(of[rankers[-1]], base, "MRR"))])
    return rows


def _print_weak(weak: Sequence[tuple[bool, bool]]) -> None:
    """How often an answer is called weak, for queries with and without one."""
    for name, wanted in (("with", True), ("without", False)):
        flags = [flag for has_answer, flag in weak if has_answer is wanted]
        if flags:
            print(f"Called weak: {sum(flags)} of {len(flags)} queries {name} an answer")
    print()
