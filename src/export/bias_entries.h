#pragma once

#include <map>
#include <string>
#include <vector>

#include "bitsweep/simulation.h"
#include "export/file_entry.h"

namespace bitsweep::exporting {

/// int32 entries of biases, by tensor.
///
/// Conv, ConvTranspose, Gemm (and MatMul with Add): scale = input scale * weight scale, per channel
/// as the weight; of a blockwise weight the largest scale of the channel, with LPBQ its float
/// scale. Norms and recurrent operators: largest magnitude / 2^31. A scale is raised where the bias
/// would not fit in 32 bits. Biases stay in float (no entry) when the input or the weight has no
/// enabled, calibrated integer quantizer, or when their length does not fit the channels.
struct BiasEntries {
  std::map<std::string, FileEntry> common;  ///< with one scale for all operators that read it
  std::vector<FileEntry> by_reader;  ///< of biases whose operators need different scales, or none
};

/// `loaded_only`: just those whose int32 encoding was read from a file.
BiasEntries bias_entries(const Simulation& simulation, bool loaded_only);

}  // namespace bitsweep::exporting
