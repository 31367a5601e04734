#pragma once

#include <cstddef>

namespace bitsweep {

/// Tells that about so many bytes were freed in blocks that last long enough for small ones to be
/// put between them. Once more than `may_stay` bytes came together, all that is free goes back to
/// the system, which costs time again when it is needed next.
///
/// glibc keeps what is freed: once a large block was freed, it takes even blocks of many megabytes
/// from its heap, where what is small and stays (an answer of a sample) keeps the space of what is
/// large and goes (the sample) from being joined and used again.
void give_back_freed_memory(std::size_t bytes, std::size_t may_stay);

}  // namespace bitsweep
