#pragma once

/// The library hides its symbols; what the public headers declare is exported, because their
/// namespace says so.
#define BITSWEEP_EXPORT __attribute__((visibility("default")))

/// Types that public headers name but only the library defines.
#define BITSWEEP_HIDDEN __attribute__((visibility("hidden")))
