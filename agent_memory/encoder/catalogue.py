"""The text models that the embedded encoder can run: where their files come from, what they must be, how to use them.

Revisions and digests are those that several public projects pin for these files, compared with each other; a file that
differs is refused. Recipes follow the model cards.
"""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

HUB = "https://huggingface.co"
MANIFEST = "model.json"  # in a model's directory: which recipe it holds
NUMBERS = {"width": 1, "max_tokens": 16}  # the least that a manifest may say
NUMBER_MAX = 65_536

Pooling = Literal["mean", "first", "output"]
"""How tokens become one vector: their mean, the first one's ([CLS]), or the graph's own `sentence_embedding`."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model: its path in the repository, its name in the directory, its size in bytes and SHA-256."""

    path: str
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is run. `{title}` and `{content}` stand in `record_template`, `{query}` in `query_template`."""

    name: str
    width: int
    max_tokens: int
    pooling: Pooling
    weights: str = "model.onnx"
    tokenizer: str = "tokenizer.json"
    query_template: str = "{query}"
    record_template: str = "{title}\n{content}"
    weights_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the table: its recipe, licence and files, at a pinned revision of a repository."""

    recipe: Recipe
    repository: str
    revision: str
    licence: str
    files: tuple[ModelFile, ...]

    def url(self, file: ModelFile, hub: str = HUB) -> str:
        """Where a file is downloaded from."""
        return f"{hub}/{self.repository}/resolve/{self.revision}/{file.path}"


_BGE = "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35"
_E5 = "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193"
_GEMMA = "ad1dfee81a70f7944b9b9d1cc6e48075b832881cf33fab2f2b248be78f3f0043"

MODELS = (
    Model(
        Recipe(
            "bge-small-en-v1.5",
            width=384,
            max_tokens=512,
            pooling="first",
            query_template="Represent this sentence for searching relevant passages: {query}",
            weights_sha256=_BGE,
        ),
        repository="BAAI/bge-small-en-v1.5",
        revision="5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
        licence="MIT",
        files=(
            ModelFile("onnx/model.onnx", "model.onnx", 133_093_490, _BGE),
            ModelFile(
                "tokenizer.json",
                "tokenizer.json",
                711_396,
                "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            ),
        ),
    ),
    Model(
        Recipe(
            "multilingual-e5-small",
            width=384,
            max_tokens=512,
            pooling="mean",
            query_template="query: {query}",
            record_template="passage: {title}\n{content}",
            weights_sha256=_E5,
        ),
        repository="Xenova/multilingual-e5-small",
        revision="761b726dd34fb83930e26aab4e9ac3899aa1fa78",
        licence="MIT",
        files=(
            ModelFile("onnx/model_quantized.onnx", "model.onnx", 118_308_185, _E5),
            ModelFile(
                "tokenizer.json",
                "tokenizer.json",
                17_082_730,
                "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
            ),
        ),
    ),
    Model(
        Recipe(
            "embeddinggemma-300m-q4",
            width=768,
            max_tokens=1024,  # the model reads 2,048; a record of 16 KiB rarely has more than 1,024 of use
            pooling="output",
            weights="model_q4.onnx",
            query_template="task: search result | query: {query}",
            record_template="title: {title} | text: {content}",
            weights_sha256=_GEMMA,
        ),
        repository="onnx-community/embeddinggemma-300m-ONNX",
        revision="5090578d9565bb06545b4552f76e6bc2c93e4a66",
        licence="Gemma Terms of Use, https://ai.google.dev/gemma/terms",
        files=(
            ModelFile("onnx/model_q4.onnx", "model_q4.onnx", 519_322, _GEMMA),
            ModelFile(
                "onnx/model_q4.onnx_data",  # the graph finds its numbers by this name
                "model_q4.onnx_data",
                196_725_760,
                "599962c3143b040de2dd05e5975be3e9091dd067cacc6a8f7186e3203bab9e02",
            ),
            ModelFile(
                "tokenizer.json",
                "tokenizer.json",
                20_323_312,
                "4dda02faaf32bc91031dc8c88457ac272b00c1016cc679757d1c441b248b9c47",
            ),
        ),
    ),
)


def model_named(name: str) -> Model:
    """The model of the table with this name.

    Raises: ValueError: there is none; the text lists those there are.
    """
    for model in MODELS:
        if model.recipe.name == name:
            return model
    known = ", ".join(model.recipe.name for model in MODELS)
    raise ValueError(f"no model is called {name}; known are {known}")


def recipe_of(folder: Path) -> Recipe:
    """The recipe of a model directory, from its `model.json`.

    `{"name": NAME}` alone means the model of the table; any other model needs the fields of `Recipe`, with
    `weights_sha256`, so that other weights under the same name are noticed.
    Raises: ValueError: the file is missing or does not say enough; the text names the file and what is wrong.
    """
    manifest = folder / MANIFEST
    try:
        found: Any = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{manifest}: cannot be read ({type(error).__name__})") from error
    if not isinstance(found, dict):
        raise ValueError(f"{manifest}: a JSON object is needed")
    if set(found) <= {"name", "revision"}:
        return model_named(str(found.get("name"))).recipe
    allowed = {field.name for field in fields(Recipe)}
    if unknown := sorted(set(found) - allowed):
        raise ValueError(f"{manifest}: unknown {unknown[0]}; allowed are {', '.join(sorted(allowed))}")
    try:
        recipe = Recipe(**found)
    except TypeError as error:
        raise ValueError(f"{manifest}: {error}") from error
    _check_types(manifest, recipe)
    if recipe.pooling not in ("mean", "first", "output") or not recipe.weights_sha256:
        raise ValueError(f"{manifest}: pooling is mean, first or output, and weights_sha256 must be given")
    try:
        recipe.record_template.format(title="", content="")
        recipe.query_template.format(query="")
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(f"{manifest}: templates know {{title}}, {{content}} and {{query}} only") from error
    return recipe


def _check_types(manifest: Path, recipe: Recipe) -> None:
    """JSON may hold anything. Raises: ValueError."""
    for field in fields(Recipe):
        value = getattr(recipe, field.name)
        if field.name not in NUMBERS and not isinstance(value, str):
            raise ValueError(f"{manifest}: {field.name} is a string")
        if field.name in NUMBERS and (type(value) is not int or not NUMBERS[field.name] <= value <= NUMBER_MAX):
            raise ValueError(f"{manifest}: {field.name} is a whole number from {NUMBERS[field.name]} to {NUMBER_MAX}")
