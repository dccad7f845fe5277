"""Standing questions in the background: one look or refresh an idle poll, and the answer job itself."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import trio
from apsw import Connection

from agent_memory.domain.questions import SOURCES, Source, Standing, basis_of, next_refresh
from agent_memory.domain.records import parse_stamp
from agent_memory.domain.screen import screen_text
from agent_memory.llm.answers import answer_question
from agent_memory.llm.router import Router
from agent_memory.logs import Log
from agent_memory.nursery.jobs import Keep
from agent_memory.store import audit, jobs, questions
from agent_memory.store.jobs import Job
from agent_memory.store.questions import NewAnswer, Question
from agent_memory.store.search import Filters
from agent_memory.tools.finding import Wanted, find
from agent_memory.tools.services import Services

log = Log("answer")

EVERY_S: Final = 5.0  # between two looks, so that an idle server stays idle
RETRY_AFTER: Final = timedelta(hours=24)  # of a question whose sources are those it could not be answered from
SERVER: Final = "server"  # the client of jobs that nobody asked for


async def find_sources(services: Services, question: Question) -> list[Source]:
    """The records an answer rests on: the best full-text hits in reach of the question's namespace.

    Only active ones: nobody has confirmed a candidate, and an answer reads as settled.
    """
    scopes = services.scopes(question.namespace)
    filters = Filters(candidates_before="")
    wanted = Wanted(query=question.question, scopes=scopes, limit=SOURCES, filters=filters, text_only=True)
    found = await find(services, wanted)
    return [Source(hit.record.id, hit.record.updated_at, hit.record.title, hit.record.content) for hit in found.hits]


class Refresher:
    """Looks up the sources of one question a poll, and queues the answer that is most due."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._looked_at = ""
        self._next_at = 0.0

    async def poll(self) -> None:
        """One look and at most one refresh; at once after a look that came too early. Writes only what changed.

        Raises: ServiceError: the store does not take it now.
        """
        now = trio.current_time()
        if now < self._next_at:
            return
        self._next_at = now + EVERY_S
        question = await self._services.store.read(partial(questions.next_to_look_at, after=self._looked_at))
        if question is None:
            return
        self._looked_at = question.id
        current = basis_of(await find_sources(self._services, question))
        if current != question.current:
            await self._services.store.write(partial(questions.look, question_id=question.id, current=current))
        await self._queue_one()

    async def _queue_one(self) -> None:
        """Queue the answer of the question that waits longest, when there is one."""
        now = self._services.now()
        due = next_refresh(waiting(await self._services.store.read(questions.every), now))
        if due is None:
            return
        job_id, at = self._services.new_id(), self._services.stamp()

        def work(conn: Connection) -> None:
            question = questions.by_id(conn, due)
            if question is None or question.current is None:
                return
            questions.attempt(conn, due, current=question.current, now=at)
            jobs.queue(
                conn,
                job_id=job_id,
                kind="answer",
                client=SERVER,
                namespace=question.namespace,
                payload={"question": due},
                now=at,
            )

        await self._services.store.write(work)


def waiting(found: Sequence[Question], now: datetime) -> list[Standing]:
    """Questions that a refresh may take, those left out that were tried from the same sources a short while ago."""
    standing = []
    for one in found:
        attempted = None if one.attempted_at is None else parse_stamp("attempted_at", one.attempted_at)
        tried = attempted is not None and one.attempted == one.current and now - attempted < RETRY_AFTER
        if one.current is not None and not tried:
            standing.append(Standing(one.id, one.basis, one.current, attempted))
    return standing


class Answerer:
    """Does answer jobs."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services = services
        self._router = router

    async def __call__(self, job: Job) -> Keep:
        """Answer a standing question from the records in reach. Returns: what stores the answer, with the audit.

        Raises: NoServerLive, EveryModelFailed, ServiceError.
        """
        question_id = str(job.payload["question"])
        question = await self._services.store.read(partial(questions.by_id, question_id=question_id))
        if question is None:
            return lambda _conn: None
        shown = await find_sources(self._services, question)
        answered = await answer_question(self._router, question.question, shown, screen_text)
        answer = NewAnswer(
            text=answered.text,
            shown=tuple(source.id for source in shown),
            cited=frozenset(answered.source_ids),
            basis=answered.basis,
            model=answered.model,
        )
        now = self._services.stamp()

        def keep(conn: Connection) -> None:
            # A source was edited, forgotten or erased while the model wrote: its old text must not come back.
            if basis_of(questions.sources(conn, answer.shown)) != answer.basis:
                questions.forget_attempt(conn, question.id)
                return
            questions.keep_answer(conn, question.id, answer, now=now)
            context = {
                "question": question.id,
                "sources": len(answer.cited),
                "model": answered.model,
                "server": answered.server,
            }
            audit.note(conn, at=now, client=SERVER, action="answer", namespace=question.namespace, context=context)

        log.info("answered", job=job.id, question=question.id, sources=len(answer.cited), server=answered.server)
        return keep
