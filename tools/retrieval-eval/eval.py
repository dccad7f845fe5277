"""Ranks the frozen queries through the product's own modules and reports how good the answers are.

    python tools/retrieval-eval/eval.py .
    python tools/retrieval-eval/eval.py . --locomo DIR-OR-FILES --plot OUT-DIR
    python tools/retrieval-eval/eval.py . --embeddings tools/retrieval-eval/embeddings.json

Prints Markdown: every ranker's figures with the paired 95 % interval against FTS5, the same by kind of query, and how
well a weak answer is told from a good one. `plain` rows use neither spelling, compounds nor translations.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

RANKERS = ("plain fts5", "fts5", "cosine", "rrf", "score")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="folder that holds the package agent_memory")
    parser.add_argument("--embeddings", type=Path, help="vectors that embed_eval.py wrote; default: embedded encoder")
    parser.add_argument("--queries", default="dev_queries.jsonl", help="file of queries beside records.jsonl")
    parser.add_argument("--coding", type=Path, help="another folder in the layout of data/coding")
    parser.add_argument("--locomo", type=Path, nargs="*", default=[], help="LoCoMo files, or folders of them")
    parser.add_argument("--snapshot", type=Path, help="a file that fetch.py wrote, with queries filled in")
    parser.add_argument("--plot", type=Path, help="folder for SVG plots")
    parser.add_argument("--cache", type=Path, help="file that keeps vectors between runs (.npz)")
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(options.root.resolve()))
    from report import report
    from sets import CODING, load_coding, load_locomo, load_snapshot
    from vectors import Embedded, Fetched

    cache = options.cache or Path(tempfile.gettempdir()) / "agent-memory-eval-vectors.npz"
    vectors = Fetched(options.embeddings) if options.embeddings else Embedded(cache)
    print(f"Encoder: {vectors.name}\n")
    if options.snapshot:
        report("snapshot", [load_snapshot(options.snapshot)], vectors, RANKERS, options.plot)
    else:
        coding = load_coding(options.coding or CODING, options.queries)
        report("coding", [coding], vectors, RANKERS, options.plot)
    files = [file for path in options.locomo for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    if files:
        report("locomo", [load_locomo(file) for file in files], vectors, RANKERS, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
