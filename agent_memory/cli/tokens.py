"""`token`: a new token for a client."""

import click

from agent_memory.cli.frame import DEFAULT_PORT, data_option, fail, load_settings, options_option, refusals, say


@click.command()
@click.argument("name")
@data_option
@options_option
@click.option("--url", default=f"http://127.0.0.1:{DEFAULT_PORT}/mcp", show_default=True, help="URL in the commands.")
def token(name: str, data: str | None, options: str | None, url: str) -> None:
    """Give client NAME a new token; the old one stops working.

    The token alone goes to standard output, the commands that use it to standard error.
    """
    import secrets
    from functools import partial

    from agent_memory.domain.clients import new_token
    from agent_memory.domain.connect import log_lines
    from agent_memory.store import token_file

    settings = load_settings(data, options)
    found = {client.name: client for client in settings.clients}
    if name not in found:
        fail(f"no client is named {name!r}; known: {', '.join(sorted(found)) or 'none'}")
    if found[name].token_sha256 is not None:
        fail(f"the token of {name} is made elsewhere: change its token_sha256 in the option clients")
    if found[name].ip is not None:
        fail(f"{name} is known by its address and has no token")
    with refusals():
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = token_file.renew(settings.data_dir, name, partial(new_token, secrets.token_bytes))
    say("\n".join(log_lines(name, url, made)[1:]))
    click.echo(made)
