"""Session logs: finding the files, and scanning them."""
