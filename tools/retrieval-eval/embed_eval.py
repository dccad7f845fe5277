"""Fetches the vectors of the frozen records and queries from an external encoder, for eval.py.

    python tools/retrieval-eval/embed_eval.py . --url http://host:8080/v1 --model qwen3-emb-0.6b

Writes a JSON file: model, snapshot, and a vector for every text by its SHA-256. Queries are encoded as the product
encodes them: with the instruction, and with mistyped words put right.
"""

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
BATCH = 32


async def fetch(url: str, model: str, record_texts: list[str], query_texts: list[str]) -> dict[str, object]:
    """Vectors of distinct texts; stops with a message when the encoder does not answer."""
    import httpx
    from vectors import key_of

    from agent_memory.encoder.protocol import EncoderUnavailable
    from agent_memory.encoder.remote import RemoteEncoder

    async with httpx.AsyncClient() as client:
        encoder = RemoteEncoder(client, url, model, timeout_s=60)
        if not await encoder.probe():
            raise SystemExit(encoder.state)
        records: dict[str, list[float]] = {}
        queries: dict[str, list[float]] = {}
        try:
            for start in range(0, len(record_texts), BATCH):
                batch = record_texts[start : start + BATCH]
                rows = await encoder.encode_records(batch)
                records |= {key_of(text): row.tolist() for text, row in zip(batch, rows, strict=True)}
                print(f"\r{start + len(batch)} of {len(record_texts)} records", end="", file=sys.stderr)
            for text in query_texts:
                queries[key_of(text)] = (await encoder.encode_query(text)).tolist()
        except EncoderUnavailable as error:
            raise SystemExit(f"\n{error}") from error
        print(file=sys.stderr)
        return {"model": model, "snapshot": encoder.snapshot, "records": records, "queries": queries}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="folder that holds the package agent_memory")
    parser.add_argument("--url", required=True, help="of the server's /v1")
    parser.add_argument("--model", default="qwen3-emb-0.6b")
    parser.add_argument("--locomo", type=Path, nargs="*", default=[], help="LoCoMo files to encode too")
    parser.add_argument("--snapshot", type=Path, help="a file that fetch.py wrote, in place of data/coding")
    parser.add_argument("--out", type=Path, default=HERE / "embeddings.json")
    options = parser.parse_args()
    sys.path.insert(0, str(options.root.resolve()))
    import trio
    from engine import Engine
    from sets import load_coding, load_locomo, load_snapshot

    from agent_memory.encoder.textmodel import shipped_vocabulary
    from agent_memory.retrieval.concepts import shipped_concepts
    from agent_memory.store.stems import Stemmer

    stemmer = Stemmer()
    known = frozenset(shipped_vocabulary())
    sets = [load_snapshot(options.snapshot) if options.snapshot else load_coding()]
    sets += [load_locomo(file) for file in options.locomo]
    records: dict[str, None] = {}
    queries: dict[str, None] = {}
    for labelled in sets:
        records |= dict.fromkeys(record.text for record in labelled.records)
        for engine in (
            Engine(labelled, None, concepts=shipped_concepts(stemmer.stems), known_words=known, stemmer=stemmer),
            Engine(labelled, None, stemmer=stemmer, spelling=False),
        ):
            queries |= dict.fromkeys(engine.plan(query).text for query in labelled.queries)
    found = trio.run(fetch, options.url, options.model, list(records), list(queries))
    options.out.write_text(json.dumps(found), encoding="utf-8")
    print(f"{len(records)} records and {len(queries)} queries → {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
