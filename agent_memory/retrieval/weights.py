"""The one table of ranking constants: what each weighs, in which unit, and where its value comes from.

`shared` names the measurements handed down with the project (docs: evals RETRIEVAL.md, four sets, paired tests);
`dev` those of `tools/retrieval-eval`, whose README keeps the table with intervals. The session weights were chosen by
leaving out one LoCoMo conversation in turn; the rest by hand, on a coarse grid, preferring the middle of a plateau.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Every constant of planning and fusion; scores are sums of shares between 0 and about 1."""

    # The full-text index
    bm25_title: float = 3.0  # column weight; 1 to 4 are equal within .003 (shared, dev)
    bm25_content: float = 1.0
    bm25_terms: float = 1.0  # parts of identifiers and CJK pairs; .25 costs .01 MRR on coding (dev)
    common_share: float = 0.2  # terms in more of the records than this are dropped while a rarer one is left (shared)
    postings_most: int = 30_000  # matches that a query's terms may bring, rarest terms first: 1.5 us each, so 50 ms
    translated_most: int = 2_000  # records; a translation that more hold is not looked up: it costs time, not order

    # Lists
    pool: int = 50  # candidates taken from each list, as many as the largest limit; 50 to 200 are equal (dev)
    around: int = 5  # best matches whose neighbours in their session are candidates too; 5 to 20 are equal (dev)
    rrf_k: int = 60  # reciprocal rank fusion: 1 / (k + position) (seed)
    rrf_cut: int = 20  # each list is cut to max(limit, this) (seed)

    # Score fusion
    meaning: float = 0.5  # share of the cosine; the words have the rest; .45 to .55 are equal (shared, dev)
    ideal: float = 1.9  # an ideal bm25 is this times the sum of the terms' idf (shared)
    cosine_floor: float = 0.35  # a best cosine below this is not scaled up to 1: +.008 MRR on coding (dev)
    translated: float = 0.7  # bm25 of translations against that of the words typed; .5 to .8 are equal (dev)

    # Newest fact among near-identical records of one namespace
    same_fact_cosine: float = 0.65  # the first of a thousand random pairs is at .54 (dev)
    same_fact_ratio: float = 0.6  # the newer one must score at least this share of the older one

    # Records of one session (turns of a conversation)
    before_one: float = 0.4  # share of the words' score taken from the record just before (shared)
    before_two: float = 0.2  # from the one before that (shared)
    after_one: float = 0.4
    after_two: float = 0.2
    question_gives: float = 0.5  # how much more a question gives to what follows it, the answer (dev)
    question_costs: float = 0.1  # taken from a question itself: it asks, it does not tell (dev)
    session: float = 0.35  # share of the session's best score added to each of its records (shared, dev)
    speaker: float = 0.3  # added when the query names the record's speaker and no other (shared, dev)
    length: float = 0.2  # added for a record of `length_full` characters or more, less in proportion (dev)
    length_full: int = 200
    when: float = 0.1  # added, when the query asks when, to a record that names a time (dev)

    # A weak answer: nothing found is convincing
    weak_below: float = 0.3  # best cosine + the two below: tells 7 of 11 queries without an answer, and 5 % of others
    weak_lead: float = 0.5  # times the best cosine's lead over the fifth
    weak_unknown: float = -0.3  # times the share of the query's words that the index does not hold


WEIGHTS = Weights()
