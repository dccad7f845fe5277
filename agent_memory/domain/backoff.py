"""How long a failed job waits before its next attempt, and when it has had enough of them."""

BASE_S = 5.0  # after the first failure: longer than a server's restart of its model, shorter than a person's patience
CAP_S = 900.0  # a quarter of an hour, so that a server back from a night off is found soon
MAX_ATTEMPTS = 8  # with the delays above about half an hour of tries; then the job is parked and shown


def retry_delay_s(attempts: int, *, base_s: float = BASE_S, cap_s: float = CAP_S, spread: float = 0.0) -> float:
    """Seconds until the next attempt: doubling from `base_s`, never above `cap_s`.

    Args:
      attempts: attempts made so far, 1 or more.
      base_s: delay after the first, above 0.
      cap_s: longest delay.
      spread: in [0, 1); takes up to a quarter off the delay, so that jobs which failed together come back apart. The
        caller draws it (a rule draws no random numbers).
    Raises: ValueError: attempts below 1 or spread outside [0, 1).
    """
    if attempts < 1 or not 0 <= spread < 1:
        raise ValueError(f"attempts {attempts} must be 1 or more and spread {spread} in [0, 1)")
    doublings = min(attempts - 1, 60)  # 2.0**60 seconds is beyond any cap and still a float
    return min(cap_s, base_s * 2.0**doublings) * (1 - spread / 4)


def is_spent(attempts: int, max_attempts: int = MAX_ATTEMPTS) -> bool:
    """Whether a job has had its attempts and is parked."""
    return attempts >= max_attempts
