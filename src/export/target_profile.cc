#include "export/target_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "bitsweep/error.h"
#include "export/write_entries.h"

namespace bitsweep::exporting {
namespace {

constexpr int kBiasBits = 32;

using Notes = std::vector<ProfileNote>;

bool is_bias(const FileEntry& entry) {
  return entry.format.is_integer() && entry.format.bitwidth == kBiasBits;
}

bool has_zero_points(const FileEntry& entry) {
  for (std::size_t i = 0; i < entry.cells.size(); ++i) {
    if (zero_point(entry, i) != 0) return true;
  }
  return false;
}

void refuse(Notes& notes, const FileEntry& entry, std::string what) {
  notes.push_back({.tensor = entry.name, .what = std::move(what), .refused = true});
}

void tell(Notes& notes, const FileEntry& entry, std::string what) {
  notes.push_back({.tensor = entry.name, .what = std::move(what)});
}

// Signed codes around zero that cover the old range. Returns by how much the largest step grew.
double make_symmetric(FileEntry& entry) {
  double before = 0.0;
  double after = 0.0;
  const double middle = std::ldexp(1.0, entry.format.bitwidth - 1);
  for (AffineEncoding& cell : entry.cells) {
    const double largest = std::max(std::abs(cell.min), std::abs(cell.max));
    before = std::max(before, cell.delta);
    cell.delta = largest / (middle - 1.0);
    after = std::max(after, cell.delta);
    cell.offset = -middle;
    cell.min = -middle * cell.delta;
    cell.max = largest;
  }
  entry.symmetric = entry.signed_codes = true;
  return after / before;
}

void repair(Notes& notes, FileEntry& entry, const std::string& why) {
  const double growth = make_symmetric(entry);
  notes.push_back({.tensor = entry.name,
                   .what = fmt::format("got a symmetric grid, because {}; its step is {:.3g} times "
                                       "that of the simulation",
                                       why, growth),
                   .repaired = true});
}

// Zero points must be 0, so everything is signed and symmetric. Activations have 8 bits, weights 8
// or 4. Source: TensorRT developer guide, explicit quantization.
void tensorrt(std::vector<FileEntry>& entries, Notes& notes) {
  std::erase_if(entries, [&](const FileEntry& entry) {
    if (!is_bias(entry)) return false;
    tell(notes, entry, "stays in float: TensorRT quantizes biases itself");
    return true;
  });
  for (FileEntry& entry : entries) {
    if (entry.format.kind == Format::Kind::kFloat8E4M3FN || !entry.format.needs_encoding())
      continue;
    const int bits = entry.format.bitwidth;
    if (!entry.format.is_integer() || (bits != 8 && !(bits == 4 && entry.parameter))) {
      refuse(notes, entry,
             fmt::format("is {}: TensorRT has int8, float8e4m3fn, and int4 for weights",
                         entry.format.name()));
      continue;
    }
    // Codes of a symmetric grid may be unsigned on request only: then signed ones say the same.
    entry.signed_codes = true;
    if (!has_zero_points(entry)) continue;
    const bool one_sided = entry.cells.front().min >= 0.0;
    repair(notes, entry,
           one_sided ? "zero points must be 0, though half of the codes are unused without "
                       "negative values"
                     : "zero points must be 0");
  }
}

// Per-channel weights are symmetric; 16-bit weights go with 16-bit activations only. Source: QNN
// documentation of the HTP backend.
void qnn_htp(std::vector<FileEntry>& entries, Notes& notes) {
  const bool narrow = std::any_of(entries.begin(), entries.end(), [](const FileEntry& entry) {
    return !entry.parameter && entry.format.is_integer() && entry.format.bitwidth < 16;
  });
  for (FileEntry& entry : entries) {
    if (is_bias(entry) || !entry.format.needs_encoding()) continue;
    const int bits = entry.format.bitwidth;
    if (!entry.format.is_integer()) {
      refuse(notes, entry, fmt::format("is {}, which HTP does not have", entry.format.name()));
    } else if (!entry.parameter && bits != 8 && bits != 16) {
      refuse(notes, entry, fmt::format("is an activation of {} bits: HTP has 8 and 16", bits));
    } else if (entry.parameter && bits == 16 && narrow) {
      refuse(notes, entry, "has 16 bits beside activations of 8: give those 16 bits, too");
    } else if (entry.parameter && entry.kind != EntryKind::kPerTensor && has_zero_points(entry)) {
      repair(notes, entry, "several scales allow no zero points");
    }
  }
}

// 8-bit kernels of CPUs without VNNI add two products of 255 and up to 128 in 16 bits. Source: ONNX
// Runtime documentation, "quantize ONNX models", S8S8 and U8U8.
void ort_cpu(std::vector<FileEntry>& entries, Notes& notes) {
  for (const FileEntry& entry : entries) {
    if (entry.parameter && entry.format == Format::integer(8)) {
      tell(notes, entry,
           "may saturate on CPUs without VNNI: two products can pass 32767; 7 bits can't");
    }
  }
}

using Rule = std::function<void(std::vector<FileEntry>&, Notes&)>;

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table = {
      {"onnx", [](std::vector<FileEntry>&, Notes&) {}},
      {"ort_cpu", ort_cpu},
      {"qnn_htp", qnn_htp},
      {"tensorrt", tensorrt}};
  return table;
}

}  // namespace

std::vector<ProfileNote> apply_profile(const std::string& profile,
                                       std::vector<FileEntry>& entries) {
  const auto rule = rules().find(profile);
  if (rule == rules().end()) {
    std::string known;
    for (const auto& [name, unused] : rules()) known += (known.empty() ? "" : ", ") + name;
    throw Error(ErrorCode::kInvalidArgument, "export",
                fmt::format("no target profile is named \"{}\"", profile),
                fmt::format("use one of: {}", known));
  }
  Notes notes;
  rule->second(entries, notes);
  return notes;
}

}  // namespace bitsweep::exporting
