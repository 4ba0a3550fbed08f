"""The policies: pure decisions, a transcript in, edits out."""
