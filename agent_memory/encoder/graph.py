"""The graph of all-MiniLM-L6-v2 in the form that takes the least memory. Reads the file; loading is `textmodel`'s.

As published, the graph turns its whole table of words from int8 into float32 before it picks the rows of a text.
onnxruntime does that once, while loading, and keeps 47 MB. Here the rows are picked first and turned into float32 then:
the numbers are the same. And the int8 weights stay in their file, where onnxruntime maps them: of the table, only the
pages with words that were used take memory.

The file is a protobuf message, https://protobuf.dev/programming-guides/encoding; the field numbers are those of
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path

TABLE = b"inner.embeddings.word_embeddings.weight"
ROWS = b"embedding"  # the rows of the table for a text's tokens

MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_TENSOR, GRAPH_VALUE_INFO = 1, 5, 13
NODE_INPUT, NODE_OUTPUT, NODE_OPERATOR, NODE_ATTRIBUTE = 1, 2, 4, 5
ATTRIBUTE_NAME, ATTRIBUTE_INT, ATTRIBUTE_TYPE = 1, 3, 20
TENSOR_TYPE, TENSOR_BYTES, TENSOR_ELSEWHERE, TENSOR_LOCATION = 2, 9, 13, 14
PAIR_KEY, PAIR_VALUE = 1, 2
FLOAT, INT8 = 1, 3  # element types
TYPE_INT = 2  # of an attribute
EXTERNAL = 1  # location of a tensor

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types

_Field = tuple[int, slice, slice]
"""A field's number, where all of it lies, and where its value lies."""


def lean_graph(weights: Path) -> bytes:
    """The model without its int8 weights, which it looks for in a file of the same name; under half a megabyte.

    Args: weights: the pinned file of `textmodel.DEFAULT`; of no other are the names of nodes known.
    Raises: OSError, ValueError, LookupError: it cannot be read or mapped, or is no such file.
    """
    name = weights.name.encode()
    with weights.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return b"".join(
            _lean_nodes(data, value, name) if number == MODEL_GRAPH else data[whole]
            for number, whole, value in _fields(data, slice(0, len(data)))
        )


def _lean_nodes(data: mmap.mmap, graph: slice, file_name: bytes) -> bytes:
    """The field of the graph. Types of intermediate values are left out: onnxruntime finds them itself."""
    kept = []
    for number, whole, value in _fields(data, graph):
        if number == GRAPH_TENSOR:
            kept.append(_elsewhere(data, whole, value, file_name))
        elif number != GRAPH_VALUE_INFO and not (number == GRAPH_NODE and _makes_rows(data, value)):
            kept.append(data[whole])
    to_float = _message(
        NODE_ATTRIBUTE,
        _message(ATTRIBUTE_NAME, b"to") + _number(ATTRIBUTE_INT, FLOAT) + _number(ATTRIBUTE_TYPE, TYPE_INT),
    )
    kept += [
        _node(b"Gather", (TABLE + b"_q", b"input_ids"), b"rows_q"),
        _node(b"Gather", (TABLE + b"_scale", b"input_ids"), b"rows_scale"),
        _node(b"Cast", (b"rows_q",), b"rows_f", to_float),
        _node(b"Mul", (b"rows_f", b"rows_scale"), ROWS),
    ]
    return _message(MODEL_GRAPH, b"".join(kept))


def _makes_rows(data: mmap.mmap, node: slice) -> bool:
    """Whether a node is one of the three that are replaced: Cast and Mul of the table, then Gather."""
    outputs = [data[value] for number, _, value in _fields(data, node) if number == NODE_OUTPUT]
    return outputs[0] in (TABLE + b"_f", TABLE, ROWS)


def _elsewhere(data: mmap.mmap, whole: slice, tensor: slice, file_name: bytes) -> bytes:
    """The field of a tensor: one of int8 without its bytes, but with their place in the file; others as they are."""
    found = {number: value for number, _, value in _fields(data, tensor)}
    if data[found[TENSOR_TYPE]] != bytes([INT8]):
        return data[whole]
    place = found[TENSOR_BYTES]
    facts = {b"location": file_name, b"offset": b"%d" % place.start, b"length": b"%d" % (place.stop - place.start)}
    kept = [data[whole] for number, whole, _ in _fields(data, tensor) if number != TENSOR_BYTES]
    kept += [_message(TENSOR_ELSEWHERE, _message(PAIR_KEY, k) + _message(PAIR_VALUE, v)) for k, v in facts.items()]
    return _message(GRAPH_TENSOR, b"".join(kept) + _number(TENSOR_LOCATION, EXTERNAL))


def _node(operator: bytes, inputs: tuple[bytes, ...], output: bytes, attribute: bytes = b"") -> bytes:
    named = b"".join(_message(NODE_INPUT, each) for each in inputs) + _message(NODE_OUTPUT, output)
    return _message(GRAPH_NODE, named + _message(NODE_OPERATOR, operator) + attribute)


def _fields(data: mmap.mmap, message: slice) -> Iterator[_Field]:
    """The fields of a message that lies there, in order."""
    at = message.start
    while at < message.stop:
        begin = at
        key, at = _varint(data, at)
        wire_type = key & 7
        if wire_type == _VARINT:
            end = _varint(data, at)[1]
        elif wire_type == _BYTES:
            size, at = _varint(data, at)
            end = at + size
        else:
            end = at + {_FIXED64: 8, _FIXED32: 4}[wire_type]
        yield key >> 3, slice(begin, end), slice(at, end)
        at = end


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, lowest first, and where it ends. Raises: ValueError: it has more than 64 bits."""
    value = 0
    for place in range(10):
        value |= (data[at + place] & 127) << 7 * place
        if data[at + place] < 128:
            return value, at + place + 1
    raise ValueError("no number of protobuf")


def _message(number: int, value: bytes) -> bytes:
    """A field that holds bytes, a text or another message."""
    return _as_varint(number << 3 | _BYTES) + _as_varint(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _as_varint(number << 3 | _VARINT) + _as_varint(value)


def _as_varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])
