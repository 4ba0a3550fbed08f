"""The DeepSeek Harness: a plugin in the host, and the Python side that it asks before each step."""
