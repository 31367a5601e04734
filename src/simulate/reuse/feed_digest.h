#pragma once

#include <string>

#include "base/sha256.h"
#include "bitsweep/tensor.h"

namespace bitsweep::simulate {

/// Type, shape and bytes, of a sequence also those of its elements. Journals keep digests made of
/// this: it must not change.
void add_tensor(Sha256* hash, const Tensor& tensor);

/// The same for feeds with the same names and bits.
std::string digest_of(const Feed& feed);

}  // namespace bitsweep::simulate
