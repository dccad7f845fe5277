"""`python -m agent_memory` is `agent-memory`."""

from agent_memory.cli import main

if __name__ == "__main__":
    main()
