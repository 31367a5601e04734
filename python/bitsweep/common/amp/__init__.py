"""Types of mixed precision that scripts of the peer import."""
