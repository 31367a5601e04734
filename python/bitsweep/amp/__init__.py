"""Parts of mixed precision under the module names that scripts of the peer import."""
