#include "export/losses.h"

#include <fmt/format.h>

namespace bitsweep::exporting {

std::vector<EncodingsLoss> losses(const std::vector<FileEntry>& entries,
                                  const std::string& version) {
  const bool second = version == "2.0.0";
  std::vector<EncodingsLoss> result;
  for (const FileEntry& entry : entries) {
    if (second && !entry.format.needs_encoding()) {
      result.push_back(
          {.tensor = entry.name,
           .what = fmt::format("is {}, for which version 2.0.0 has no entry", entry.format.name()),
           .changes_values = true});
    } else if (second && entry.format.is_integer() && entry.symmetric && !entry.signed_codes) {
      result.push_back({.tensor = entry.name,
                        .what = "is symmetric, which unsigned codes do not say: its grid stays"});
    } else if (version == "0.6.1" && entry.kind == EntryKind::kPerBlock) {
      result.push_back(
          {.tensor = entry.name,
           .what = fmt::format("has blocks of {}, of which version 0.6.1 keeps the scales only: a "
                               "simulation reads them when it has such blocks itself",
                               entry.block_size),
           .changes_values = true});
    }
  }
  return result;
}

}  // namespace bitsweep::exporting
