"""Standing questions: declared here, answered in the background, read without a search or a model call."""

from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Final

import trio
from apsw import Connection
from pydantic import BaseModel, Field

from agent_memory.domain import namespaces
from agent_memory.domain.errors import InvalidArgument, QuestionNotFound
from agent_memory.domain.questions import Ask, Demand, basis_of, is_stale, rank_demand
from agent_memory.domain.records import check_id, check_line, parse_stamp
from agent_memory.domain.specifics import normalise
from agent_memory.store import audit, queries, questions
from agent_memory.store.queries import AskedQuery
from agent_memory.store.questions import Question
from agent_memory.tools.registry import Arguments, Call, Result, tool
from agent_memory.tools.writing import spellings

QUESTION_MAX_CHARS: Final = 300
SHOWN_CHARS: Final = 200  # of a search in the list; a pasted prompt is told by its beginning
ASKS_MAX: Final = 1_000  # newest searches of a namespace that are ranked
DEMAND_MAX: Final = 20
PENDING: Final = "pending: a model server answers it in the background"
NEVER: Final = "this server has no model server (option ollama_url), so nothing answers it; memory_search finds records"
BEYOND: Final = "its answer rests on a record that is out of reach from this namespace by now"


class AddArguments(Arguments):
    namespace: str
    question: Annotated[str, Field(description="One question, as a session would ask it.")]


class AddResult(Result):
    id: str


@tool("write", idempotent=True)
async def memory_question_add(call: Call, args: AddArguments) -> AddResult:
    """Declare a question that sessions ask again and again; it is answered in the background from stored records.

    The same question asked again in a namespace gives the same id.
    """
    namespace = namespaces.validate(args.namespace)
    question = check_line("question", args.question, QUESTION_MAX_CHARS)
    await call.services.refuse(
        [
            *spellings("question", [args.question], [question]),
            *spellings("namespace", [args.namespace], [namespace]),
        ]
    )
    services, client = call.services, call.identity.name
    question_id, now = services.new_id(), services.stamp()

    def work(conn: Connection) -> str:
        found, new = questions.add(
            conn,
            question_id=question_id,
            namespace=namespace,
            question=question,
            wording=normalise(question),
            client=client,
            now=now,
        )
        if new:
            context = {"question": found}
            audit.note(conn, at=now, client=client, action="question-add", namespace=namespace, context=context)
        return found

    return AddResult(id=await services.store.write(work))


class QuestionsArguments(Arguments):
    namespace: str


class AskedView(BaseModel):
    question: str
    asked: int = Field(description="How often lately.")
    answered: float = Field(description="How well searches answered it, 0 to 1.")
    score: float
    last_asked_at: str | None = None
    id: str | None = Field(default=None, description="Of the standing question, for memory_answer.")
    stale: bool | None = None


class QuestionsResult(Result):
    questions: list[AskedView]


@tool("read", read_only=True)
async def memory_questions(call: Call, args: QuestionsArguments) -> QuestionsResult:
    """What sessions here asked often and found badly answered, worst first; then the other standing questions."""
    namespace = namespaces.validate(args.namespace)

    def work(conn: Connection) -> tuple[list[AskedQuery], list[tuple[Question, bool]]]:
        standing = questions.of_namespace(conn, namespace)
        return queries.asked_in(conn, namespace, limit=ASKS_MAX), [(each, _stale(conn, each)) for each in standing]

    asked, standing = await call.services.store.read(work)
    asks = [Ask(row.query, row.coverage, parse_stamp("at", row.at)) for row in asked]
    # Telling the words of a thousand searches apart takes some 50 ms.
    demand = await trio.to_thread.run_sync(partial(rank_demand, asks, DEMAND_MAX))
    declared = {normalise(each.question): (each, stale) for each, stale in standing}
    shown = [_asked(one, declared.pop(normalise(one.question), None)) for one in demand]
    shown += [
        AskedView(question=each.question, asked=0, answered=0, score=0, id=each.id, stale=stale)
        for each, stale in declared.values()
    ]
    return QuestionsResult(questions=shown)


class AnswerArguments(Arguments):
    namespace: str
    question: Annotated[str, Field(min_length=1, description="A standing question's id or its text.")]


class AnswerResult(Result):
    answer: str | None = Field(default=None, description="Absent until it was answered.")
    note: str | None = Field(default=None, description="Why there is no answer.")
    source_ids: list[str] = Field(description="The records it rests on.")
    stale: bool = Field(description="Whether records changed since, or there is no answer yet.")
    model: str | None = None
    answered_at: str | None = None


@tool("read", read_only=True)
async def memory_answer(call: Call, args: AnswerArguments) -> AnswerResult:
    """Read the kept answer of a standing question, with its sources. Costs nothing: no search, no model.

    An answer that rests on a record out of reach by now (a link or a hub was taken away) is not given any more.
    """
    namespace = namespaces.validate(args.namespace)
    scopes = call.services.scopes(namespace)
    enrichment = call.services.policy.enrichment

    def work(conn: Connection) -> AnswerResult:
        question = _find(conn, namespace, args.question)
        if questions.rests_beyond(conn, question.id, scopes):
            return AnswerResult(note=BEYOND, source_ids=[], stale=True)
        cited = [record_id for record_id, named in questions.shown_ids(conn, question.id) if named]
        return AnswerResult(
            answer=question.answer,
            note=None if question.answer is not None else (PENDING if enrichment else NEVER),
            source_ids=cited,
            stale=_stale(conn, question),
            model=question.model,
            answered_at=question.answered_at,
        )

    return await call.services.store.read(work)


def _find(conn: Connection, namespace: str, text: str) -> Question:
    """A question of a namespace by its wording, or by its id or a prefix of it. Raises: QuestionNotFound."""
    found = questions.by_wording(conn, namespace, normalise(text))
    if found is None:
        with suppress(InvalidArgument):  # it is no id either
            found = questions.by_prefix(conn, namespace, check_id("question", text))
    if found is None:
        raise QuestionNotFound
    return found


def _stale(conn: Connection, question: Question) -> bool:
    """Whether an answer's sources changed since it was given, or others came first at the last look."""
    if question.basis is None:
        return True
    shown = [record_id for record_id, _ in questions.shown_ids(conn, question.id)]
    now = basis_of(questions.sources(conn, shown))
    return is_stale(question.basis, now) or is_stale(question.basis, question.current or question.basis)


def _asked(demand: Demand, standing: tuple[Question, bool] | None) -> AskedView:
    return AskedView(
        question=demand.question[:SHOWN_CHARS],
        asked=demand.asked,
        answered=round(demand.answered, 3),
        score=round(demand.score, 3),
        last_asked_at=demand.last_asked_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        id=standing[0].id if standing else None,
        stale=standing[1] if standing else None,
    )


TOOLS: tuple[Any, ...] = (memory_question_add, memory_questions, memory_answer)
