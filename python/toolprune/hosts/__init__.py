"""One module a host: its messages to a transcript, edits to its messages, its hooks, its tools."""
