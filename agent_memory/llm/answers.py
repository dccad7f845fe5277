"""Asks a model to answer a standing question from records alone; length, basis and ranking are domain/questions'."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_memory.domain.grounding import is_grounded
from agent_memory.domain.questions import NO_ANSWER, SOURCES, Source, basis_of, cut_answer
from agent_memory.domain.specifics import normalise
from agent_memory.llm.chat import PROSE_TOKENS, ChatReply, ChatRequest, Kind
from agent_memory.llm.errors import BadReply
from agent_memory.llm.fence import Block, fence
from agent_memory.llm.memories import Screen
from agent_memory.llm.replies import read_text, unfence
from agent_memory.llm.router import Router

SOURCE_CHARS = 1_200  # shown of each record; eight of them are about 2,400 tokens

_INSTRUCTIONS = f"""You answer a question about a coding project from the records below and from nothing else.
Write plain prose in the language of the records, at most four short sentences, without headings or lists. After each \
statement put the label of the record it rests on in square brackets, such as [S1]. Keep numbers, versions, paths and \
names exactly as the records have them. When the records contradict each other, say so.
When the records do not answer the question, reply with exactly this sentence: {NO_ANSWER}"""

_CITATION = re.compile(r"\s*[\[(\u3010]\s*S\d+(?:\s*[,;&]?\s*(?:and\s+)?S\d+)*\s*[\])\u3011]", re.IGNORECASE)


@dataclass(frozen=True)
class Answered:
    """An answer ready for the store.

    `source_ids` are the records it cites, all that were shown when it cites none, and none for the fixed sentence.
    `basis` digests every record that was shown. Server and model are empty when no model was asked.
    """

    text: str
    source_ids: tuple[str, ...]
    basis: str
    server: str = ""
    model: str = ""


async def answer_question(router: Router, question: str, sources: Sequence[Source], screen: Screen) -> Answered:
    """Answer a question from at most eight sources; without any, the fixed sentence and no model call.

    Args:
      question: as it was declared or asked.
      sources: records in scope, best first; only the first eight count, for the basis too.
      screen: names the secret pattern in a text, or None; an answer that carries one is the model's failure.
    Raises: NoServerLive, EveryModelFailed: as Router.call.
    """
    shown = list(sources)[:SOURCES]
    basis = basis_of(shown)
    if not shown:
        return Answered(NO_ANSWER, (), basis)
    served = await router.call(answer_request(question, shown), lambda reply: read_answer(reply, shown, screen))
    text, source_ids = served.value
    return Answered(text, source_ids, basis, served.server, served.model)


def answer_request(question: str, shown: Sequence[Source]) -> ChatRequest:
    """The request for one answer; the records are labelled S1, S2, … in the order given."""
    blocks = [
        Block(f"record S{at}, updated {source.updated_at}", f"{source.title}\n{source.content}"[:SOURCE_CHARS])
        for at, source in enumerate(shown, start=1)
    ]
    fenced = fence([*blocks, Block("question", question)])
    user = f"{fenced.data}\n\nNow answer the question in the last block from the records above it."
    return ChatRequest(Kind.ANSWER, f"{_INSTRUCTIONS}\n\n{fenced.notice}", user, PROSE_TOKENS)


def read_answer(reply: ChatReply, shown: Sequence[Source], screen: Screen) -> tuple[str, tuple[str, ...]]:
    """Read a reply into the stored text, without its citation marks, and the ids it rests on.

    Raises: BadReply: it is empty, the screen refuses it, or it does not rest on the records.
    """
    raw = unfence(read_text(reply))
    marks = "".join(_CITATION.findall(raw))
    cited = [int(number) for number in re.findall(r"\d+", marks)]
    text = cut_answer(_CITATION.sub("", raw))
    if not text:
        raise BadReply("it is empty")
    if normalise(NO_ANSWER).rstrip(".") in normalise(text):
        return NO_ANSWER, ()
    pattern = screen(text)
    if pattern is not None:
        raise BadReply(f"the screen refuses it (pattern {pattern})")
    if not is_grounded(text, "\n".join(f"{source.title}\n{source.content}" for source in shown)):
        raise BadReply("it does not say what the records say")
    known = dict.fromkeys(shown[number - 1].id for number in cited if 1 <= number <= len(shown))
    return text, tuple(known) or tuple(source.id for source in shown)
