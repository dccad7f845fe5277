"""Namespaces: which ones exist, how a remote or a name becomes one, what a session in one may reach, owner renames."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent_memory.domain import remotes
from agent_memory.domain.errors import InvalidArgument

FIELD = "namespace"
GLOBAL = "global"
MAX_NAMESPACE_CHARS = 160  # seed 001, Bootstrap row
MAX_TOPICS = 8  # seed 001, Bootstrap row
MAX_TOPIC_CHARS = 40  # seed 001, Bootstrap row

# Kinds whose namespaces come from a git remote: what a hub reaches. A `local/` project is reached only by its own name.
REPOSITORY_KINDS = ("github", "gitea")
NAMED_KINDS = ("projects", "topics", "local")
FORMS = "github/<owner>/<repo>, gitea/<owner>/<repo>, projects/<name>, topics/<name>, local/<name> or global"
# `ssh.github.com` is GitHub's ssh on port 443 (docs.github.com, "Using SSH over the HTTPS port").
_GITHUB_HOSTS = ("github.com", "ssh.github.com")
_ASCII_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")


@dataclass(frozen=True)
class ForgeRules:
    """Which remotes have a namespace: owners None means every owner; forge hosts are host names without a port."""

    github_owner: str | None = None
    forge_hosts: tuple[str, ...] = ()
    forge_owner: str | None = None


@dataclass(frozen=True)
class Scopes:
    """What one retrieval may read: namespaces in the order they rank, and whether every repository follows them."""

    ordered: tuple[str, ...]
    reaches_all_repositories: bool

    def among(self, known: Iterable[str]) -> tuple[str, ...]:
        """All that is read when these are the namespaces that have records; `store.records.in_scope` says it in SQL."""
        if not self.reaches_all_repositories:
            return self.ordered
        repositories = sorted(name for name in known if name.partition("/")[0] in REPOSITORY_KINDS)
        return tuple(dict.fromkeys((*self.ordered, *repositories)))


def from_remote(remote: str, rules: ForgeRules) -> str:
    """The namespace of a git remote: `github/<owner>/<repo>`, or `gitea/<owner>/<repo>` for a configured forge host.

    Two forge hosts with the same owner and repository share a namespace, as the seed names no host in it.

    Raises: InvalidArgument("remote"): not a remote, a host that is not configured, or an owner the options exclude;
      the text names the allowed hosts or the allowed owner and never repeats the remote.
    """
    found = remotes.parse(remote)
    forge_hosts = tuple(host.lower().removeprefix("www.") for host in rules.forge_hosts)
    if found.host in _GITHUB_HOSTS:
        kind, allowed, option = "github", rules.github_owner, "github_owner"
    elif found.host in forge_hosts:
        kind, allowed, option = "gitea", rules.forge_owner, "forge_owner"
    else:
        hosts = ", ".join((_GITHUB_HOSTS[0], *rules.forge_hosts))
        raise InvalidArgument("remote", f"this host has no namespaces; allowed: {hosts} (option forge_hosts adds one)")
    if allowed is not None and found.owner != allowed.lower():
        raise InvalidArgument("remote", f"only repositories of {allowed} have a namespace here (option {option})")
    return validate(f"{kind}/{found.owner}/{found.repository}")


def from_name(name: str) -> str:
    """The namespace of a project without a remote: `local/<name>`, lower case, each run of spaces one hyphen.

    Raises: InvalidArgument("name"): empty, too long, or with characters outside letters, digits, `.`, `_`, `-`.
    """
    if len(name) > 4 * MAX_NAMESPACE_CHARS:  # before any work on it; spaces still fold below
        raise InvalidArgument("name", f"longer than {MAX_NAMESPACE_CHARS - len('local/')} characters")
    canonical = _canonical_name("-".join(name.split()), "name")
    if len(f"local/{canonical}") > MAX_NAMESPACE_CHARS:
        raise InvalidArgument("name", f"longer than {MAX_NAMESPACE_CHARS - len('local/')} characters")
    return f"local/{canonical}"


def validate(namespace: str, field: str = FIELD) -> str:
    """Check a namespace and return its one canonical spelling (lower case; Unicode NFKC in names).

    Args: field: the argument or option that an error names.
    Raises: InvalidArgument: none of the six forms, or over 160 characters.
    """
    if not namespace or len(namespace) > MAX_NAMESPACE_CHARS:
        raise InvalidArgument(field, f"{len(namespace)} characters; allowed are 1 to {MAX_NAMESPACE_CHARS}")
    kind, *rest = namespace.split("/")
    kind = kind.lower() if kind.isascii() else kind
    if kind == GLOBAL and not rest:
        return GLOBAL
    if kind in REPOSITORY_KINDS and len(rest) == 2:
        canonical = "/".join((kind, *(_canonical_segment(segment, field) for segment in rest)))
    elif kind in NAMED_KINDS and len(rest) == 1:
        canonical = f"{kind}/{_canonical_name(rest[0], field)}"
    else:
        raise InvalidArgument(field, f"not a namespace; expected {FORMS}")
    if len(canonical) > MAX_NAMESPACE_CHARS:
        raise InvalidArgument(field, f"over {MAX_NAMESPACE_CHARS} characters in its canonical form")
    return canonical


def topic_scopes(topics: Sequence[str]) -> tuple[str, ...]:
    """Topics as namespaces, in the order given, each once; `x` and `topics/x` mean the same.

    Raises: InvalidArgument("topics"): over 8 topics, or one that is not a name of 1 to 40 characters.
    """
    if len(topics) > MAX_TOPICS:
        raise InvalidArgument("topics", f"{len(topics)} topics; allowed are {MAX_TOPICS}")
    scopes = []
    for topic in topics:
        name = topic.removeprefix("topics/")
        if not 1 <= len(name) <= MAX_TOPIC_CHARS:
            raise InvalidArgument("topics", f"a topic of {len(name)} characters; allowed are 1 to {MAX_TOPIC_CHARS}")
        if "/" in name:
            raise InvalidArgument("topics", "a topic is a name alone, or topics/<name>")
        scopes.append(validate(f"topics/{name}", "topics"))
    return tuple(dict.fromkeys(scopes))


def retrieval_order(
    namespace: str, topics: Sequence[str], links: Mapping[str, Sequence[str]], hubs: Iterable[str]
) -> Scopes:
    """What a session in a namespace retrieves from: itself, its linked projects, the given topics, global.

    Args:
      links: `projects/<name>` → the namespaces that share it, all canonical; the mapping's order is the rank order.
      hubs: canonical namespaces whose retrieval then reaches every other repository namespace.
    Raises: InvalidArgument: a bad namespace or topic.
    """
    own = validate(namespace)
    projects = [project for project, members in links.items() if own in members]
    ordered = dict.fromkeys((own, *projects, *topic_scopes(topics), GLOBAL))
    return Scopes(tuple(ordered), own in frozenset(hubs))


def check_renames(renames: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Canonical owner renames: each side `github/<owner>` or `gitea/<owner>`.

    Raises: InvalidArgument("namespace_renames"): another form, the same owner moved twice, or a cycle.
    """
    moves: dict[str, str] = {}
    for source, target in renames:
        source, target = _owner_prefix(source), _owner_prefix(target)
        if source in moves:
            raise InvalidArgument("namespace_renames", f"{source} is moved twice")
        moves[source] = target
    for source in moves:
        seen = {source}
        prefix = source
        while prefix in moves:
            prefix = moves[prefix]
            if prefix in seen:
                raise InvalidArgument("namespace_renames", f"{source} comes back to {prefix}: a cycle")
            seen.add(prefix)
    return tuple(moves.items())


def rename(namespace: str, renames: Sequence[tuple[str, str]]) -> str:
    """Where a canonical namespace belongs after the owner renames; chains are followed to their end.

    A prefix fits whole path segments only: `github/old` moves `github/old/x` and leaves `github/older/x`.

    Raises: InvalidArgument("namespace_renames"): as `check_renames`.
    """
    moves = dict(check_renames(renames))
    kind, slash, rest = namespace.partition("/")
    owner, second_slash, repository = rest.partition("/")
    if not (slash and second_slash):
        return namespace
    prefix = f"{kind}/{owner}"
    while prefix in moves:
        prefix = moves[prefix]
    return f"{prefix}/{repository}"


def _owner_prefix(text: str) -> str:
    kind, _, owner = text.lower().partition("/")
    if not text.isascii() or kind not in REPOSITORY_KINDS or not owner or "/" in owner:
        raise InvalidArgument("namespace_renames", "expected owner prefixes: github/<owner> or gitea/<owner>")
    return f"{kind}/{_canonical_segment(owner, 'namespace_renames')}"


def _canonical_segment(segment: str, field: str) -> str:
    # lower() only on ASCII: some letters outside it become ASCII there (the Kelvin sign becomes k)
    lowered = segment.lower() if segment.isascii() else segment
    if not lowered or not _ASCII_NAME.issuperset(lowered) or lowered in {".", ".."}:
        raise InvalidArgument(field, "owner and repository hold letters, digits, dots, hyphens and underscores")
    return lowered


def _canonical_name(name: str, field: str) -> str:
    """A project, topic or local name: letters and digits of any script (a folder may be named in Japanese)."""
    canonical = _fold(name)
    fits = all(c in "._-" or unicodedata.category(c)[0] in "LNM" for c in canonical)
    # a few letters never settle under folding; refused rather than stored under two spellings
    if not canonical or not fits or canonical in {".", ".."} or _fold(canonical) != canonical:
        raise InvalidArgument(field, "a name holds letters, digits, dots, hyphens and underscores, and no spaces")
    return canonical


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).lower())
