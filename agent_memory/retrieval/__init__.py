"""Query building, fusion, ranking and packing: candidates in, ranked hits out."""
