"""How far apart two words are, for finding what a mistyped word was meant to be."""


def edit_distance(one: str, other: str, limit: int) -> int:
    """The fewest single-character insertions, deletions, substitutions and swaps of neighbours between two words.

    The restricted form: no part is edited twice (optimal string alignment, after Damerau 1964 and Wagner 1975).

    Args:
      limit: the largest distance of interest, 0 or more.
    Returns: the distance, or limit + 1 for any distance beyond the limit.
    """
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        before, last, row = row, before, [i] + [0] * len(other)
        for j, right in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, last[j - 2] + 1)
            row[j] = cost
        if min(row) > limit and min(before) > limit:
            return limit + 1
    return min(row[-1], limit + 1)
