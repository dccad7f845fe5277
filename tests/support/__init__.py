"""What tests share: a world with clients in it, an HTTP reply, a server process."""
