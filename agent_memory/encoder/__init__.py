"""Text to vectors: the embedded ONNX encoder, the /v1 client and the vector index."""
