"""Reading tools: search, get and timeline."""

from typing import Annotated, Any

from apsw import Connection
from pydantic import BaseModel, Field

from agent_memory.domain import namespaces
from agent_memory.domain.budgets import RECORDS_TOKENS, SEARCH_TOKENS, estimate_tokens
from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.records import ID_CHARS, STATES, TYPES, Record, check_id, check_tags, parse_stamp
from agent_memory.retrieval.excerpts import allot, window
from agent_memory.retrieval.query import query_terms
from agent_memory.store import records
from agent_memory.store.queries import AskedQuery
from agent_memory.store.search import Filters
from agent_memory.tools.finding import Found, Hit, Query, Wanted, find
from agent_memory.tools.registry import Arguments, Call, Result, tool
from agent_memory.tools.views import RecordView, views

QUERY_KEPT_CHARS = 500  # of a query in the demand signal; a pasted page is not a question

Ids = Annotated[list[str], Field(max_length=50)]


class SearchArguments(Arguments):
    query: Query
    namespace: str
    topics: list[str] | None = None
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    types: list[str] | None = None
    tags: Annotated[list[str] | None, Field(description="All must match.")] = None
    min_cosine: Annotated[float | None, Field(ge=-1, le=1)] = None
    exclude: Annotated[Ids | None, Field(description="Ids or prefixes to drop.")] = None
    recall: Annotated[bool, Field(description="True for automatic lookups.")] = False


class HitView(BaseModel):
    id: str
    namespace: str
    type: str
    title: str
    content: str | None = Field(default=None, description="The whole text, when it fits the budget.")
    excerpt: str | None = Field(default=None, description="A stretch of it otherwise; memory_get has the rest.")
    tags: list[str]
    status: str
    revision: int
    confidence: float
    effective_confidence: float
    score: float
    why: str
    cosine: float | None = None
    missing_anchors: list[str] | None = None
    updated_at: str


class SearchResult(Result):
    hits: list[HitView]
    ranking: str = Field(description="Which ranking answered: fts5, rrf or score.")
    weak: bool | None = Field(default=None, description="True when no hit is convincing.")


@tool("read", read_only=True)
async def memory_search(call: Call, args: SearchArguments) -> SearchResult:
    """Find records by words or meaning in a namespace, its linked projects, given topics and global. Search before
    you investigate or decide; read whole records with memory_get.

    Texts together take the search budget: short ones whole, long ones as the stretch around the first match.
    """
    services = call.services
    scopes = services.scopes(args.namespace, args.topics)
    wanted = Wanted(
        query=args.query,
        scopes=scopes,
        filters=Filters(check_types(args.types or ()), check_tags(args.tags or ())),
        exclude=tuple(check_id(f"exclude[{i}]", entry) for i, entry in enumerate(args.exclude or ())),
        limit=args.limit,
        min_cosine=args.min_cosine,
    )
    found = await find(services, wanted)
    now = services.stamp()
    services.read_log.returned((hit.record.id for hit in found.hits), now)
    if not args.recall:
        asked = AskedQuery(
            at=now,
            client=call.identity.name,
            namespace=scopes.ordered[0],
            query=args.query[:QUERY_KEPT_CHARS],
            hits=found.text_hits,
            coverage=found.coverage,
        )
        # As stored too: a cut may end a value where it starts to look like a credential. The namespace counts as well:
        # it is stored beside the query, and one refused row would take all that waits with it.
        texts = {args.query, asked.query, args.namespace, asked.namespace}
        if all(services.screen.pattern(text) is None for text in texts):
            services.read_log.asked(asked)
    return _search_result(found, args.query)


def check_types(types: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Known record types, each once. Raises: InvalidArgument."""
    for value in types:
        if value not in TYPES:
            raise InvalidArgument("types", f"may hold {', '.join(TYPES)}")
    return tuple(dict.fromkeys(types))


def _search_result(found: Found, query: str) -> SearchResult:
    words = query_terms(query)
    titles = sum(len(hit.record.title.encode()) for hit in found.hits)
    budget = max(SEARCH_TOKENS * 4 - titles, 0)
    rooms = allot([len(hit.record.content.encode()) for hit in found.hits], budget)
    hits = [_hit_view(hit, words, room) for hit, room in zip(found.hits, rooms, strict=True)]
    return SearchResult(
        hits=hits,
        ranking=found.ranking,
        weak=True if found.weak else None,
        truncated=any(hit.content is None for hit in hits),
    )


def _hit_view(hit: Hit, words: list[str], room: int) -> HitView:
    record = hit.record
    whole = len(record.content.encode()) <= room
    return HitView(
        id=record.id,
        namespace=record.namespace,
        type=record.type,
        title=record.title,
        content=record.content if whole else None,
        excerpt=None if whole else window(record.content, words, room),
        tags=list(record.tags),
        status=record.status,
        revision=record.revision,
        confidence=round(record.confidence, 4),
        effective_confidence=round(record.effective_confidence, 4),
        score=round(hit.score, 6),
        why=hit.why,
        cosine=None if hit.cosine is None else round(hit.cosine, 4),
        missing_anchors=list(hit.missing_anchors) or None,
        updated_at=record.updated_at,
    )


class GetArguments(Arguments):
    ids: Annotated[list[str], Field(min_length=1, max_length=50, description="Full ids or unique prefixes.")]
    namespace: str | None = None


class GetResult(Result):
    records: list[RecordView]
    not_found: list[str]
    ambiguous: list[str]
    matches: dict[str, int] | None = Field(
        default=None, description="How many records each ambiguous prefix fits; give more of the id."
    )
    left_out: list[str] | None = Field(default=None, description="Ids that did not fit; get them next.")


@tool("read", read_only=True)
async def memory_get(call: Call, args: GetArguments) -> GetResult:
    """Read whole records by id or unique id prefix (8 or more characters), with evidence, anchors and supersession.

    A record is never cut: those that do not fit the budget are named in left_out, and the first is always given.
    """
    scopes = None if args.namespace is None else call.services.scopes(args.namespace)
    wanted = list(dict.fromkeys(check_id(f"ids[{i}]", entry) for i, entry in enumerate(args.ids)))

    def work(conn: Connection) -> tuple[dict[str, RecordView], list[str], dict[str, int]]:
        found: dict[str, Record] = {}
        missing: list[str] = []
        ambiguous: dict[str, int] = {}
        for entry in wanted:
            matching = records.matches(conn, entry, scopes)
            if not matching:
                missing.append(entry)
            elif len(matching) > 1:
                ambiguous[entry] = records.count_matches(conn, entry, scopes)
            else:
                found[matching[0].id] = matching[0]
        return views(conn, list(found.values())), missing, ambiguous

    found, missing, ambiguous = await call.services.store.read(work)
    fitting, left_out = _fit_records(list(found.values()))
    call.services.read_log.fetched((each.id for each in fitting), call.services.stamp())
    return GetResult(
        records=fitting,
        not_found=missing,
        ambiguous=list(ambiguous),
        matches=ambiguous or None,
        left_out=left_out or None,
        truncated=bool(left_out),
    )


def _fit_records(found: list[RecordView]) -> tuple[list[RecordView], list[str]]:
    fitting: list[RecordView] = []
    left_out: list[str] = []
    spent = 0
    for each in found:
        tokens = estimate_tokens(len(each.model_dump_json(exclude_none=True).encode()))
        if fitting and spent + tokens > RECORDS_TOKENS:
            left_out.append(each.id)
        else:
            fitting.append(each)
            spent += tokens
    return fitting, left_out


class TimelineArguments(Arguments):
    namespace: str
    status: str = "active"
    before: Annotated[str | None, Field(description="A record id or a time.")] = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20


class TimelineResult(Result):
    records: list[RecordView]
    counts: dict[str, int] = Field(description="Records of this namespace in each state.")
    candidates_pending: int
    next_before: str | None = Field(default=None, description="Pass as before for the next page.")


@tool("read", read_only=True)
async def memory_timeline(call: Call, args: TimelineArguments) -> TimelineResult:
    """List one namespace's records newest first; status="candidate" lists what waits for review, with revisions."""
    namespace = namespaces.validate(args.namespace)
    if args.status not in STATES or args.status == "deleted":
        raise InvalidArgument("status", "must be active, candidate or superseded")
    before = None if args.before is None else _cursor(args.before)

    def work(conn: Connection) -> tuple[list[RecordView], bool, dict[str, int]]:
        rows = records.newest(conn, namespace, args.status, before=before, limit=args.limit + 1)
        page = views(conn, rows[: args.limit])
        return list(page.values()), len(rows) > args.limit, dict(records.counts(conn, namespace))

    page, more, counts = await call.services.store.read(work)
    fitting, left_out = _fit_records(page)
    more = more or bool(left_out)
    # The first that did not fit ends the page, so that the next page starts right behind this one.
    if left_out:
        fitting = page[: next(i for i, each in enumerate(page) if each.id == left_out[0])]
    return TimelineResult(
        records=fitting,
        counts={state: counts.get(state, 0) for state in STATES if state != "deleted"},
        candidates_pending=counts.get("candidate", 0),
        next_before=fitting[-1].id if more and fitting else None,
        truncated=bool(left_out),
    )


def _cursor(before: str) -> str:
    """The id to page back from: ids start with their time in milliseconds. Raises: InvalidArgument."""
    plain = before.strip().lower()
    if len(plain) == ID_CHARS and all(c in "0123456789abcdef" for c in plain):
        return plain
    moment = parse_stamp("before", before)
    return f"{int(moment.timestamp() * 1000):012x}"


TOOLS: tuple[Any, ...] = (memory_search, memory_get, memory_timeline)
