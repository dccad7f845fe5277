"""Which encoders a configuration means: the one to embed with, and the one whose stored vectors still answer."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from agent_memory.config import Settings
from agent_memory.encoder.catalogue import recipe_of
from agent_memory.encoder.embedded import EmbeddedEncoder
from agent_memory.encoder.protocol import Encoder, EncoderUnavailable
from agent_memory.encoder.textmodel import DEFAULT, TextModel, load_default, load_folder
from agent_memory.store import embeddings
from agent_memory.store.worker import Store

OFF = "off"


@asynccontextmanager
async def open_encoders(settings: Settings, store: Store) -> AsyncIterator[tuple[Encoder | None, Encoder | None]]:
    """The configured encoder and the one before it; None for each that there is not. Contacts and loads nothing."""
    async with AsyncExitStack() as stack:
        current = await _configured(settings, stack)
        older = None
        if current is not None:
            others = [model for model in await store.read(embeddings.models) if model != current.model]
            fullest = await store.read(partial(embeddings.fullest, models=others))
            if fullest is not None:
                older = await _named(settings, fullest, stack)
        yield current, older


async def _configured(settings: Settings, stack: AsyncExitStack) -> Encoder | None:
    if settings.embed_url == OFF:
        return None
    if settings.embed_url is not None:
        return await _remote(settings, settings.embed_model, stack)
    if settings.embed_model_dir is not None:
        try:
            recipe = recipe_of(settings.embed_model_dir)
        except ValueError as error:
            return EmbeddedEncoder(_refusing(str(error)), threads=settings.embed_threads)
        load = partial(load_folder, settings.embed_model_dir)
        return EmbeddedEncoder(load, recipe=recipe, threads=settings.embed_threads)
    return EmbeddedEncoder(load_default, recipe=DEFAULT, threads=settings.embed_threads)


async def _named(settings: Settings, model: str, stack: AsyncExitStack) -> Encoder | None:
    """An encoder for a model that was configured before: the embedded one, or another of the same server."""
    if model == DEFAULT.name:
        return EmbeddedEncoder(load_default, recipe=DEFAULT, threads=settings.embed_threads)
    if settings.embed_url not in (None, OFF):
        return await _remote(settings, model, stack)
    return None


def _refusing(reason: str) -> Callable[[int], TextModel]:
    """In place of a model that cannot be used: health says why, and searches use full text."""

    def load(_threads: int) -> TextModel:
        raise EncoderUnavailable(reason)

    return load


async def _remote(settings: Settings, model: str, stack: AsyncExitStack) -> Encoder:
    import httpx

    from agent_memory.encoder.remote import RemoteEncoder

    client = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
    return RemoteEncoder(client, str(settings.embed_url), model, timeout_s=settings.embed_timeout_s)
