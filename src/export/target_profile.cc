#include "export/target_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/names.h"
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

// The first operator that multiplies by a weight and for which something holds; nullptr: none.
const WeightUse* find_use(const std::vector<WeightUse>& uses, const FileEntry& weight,
                          const std::function<bool(const WeightUse&)>& holds) {
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const WeightUse& use) {
    return use.weight == weight.name && holds(use);
  });
  return found == uses.end() ? nullptr : &*found;
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
// or, in matrix products only, 4. Source: TensorRT developer guide, explicit quantization.
void tensorrt(std::vector<FileEntry>& entries, const std::vector<WeightUse>& uses, Notes& notes) {
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
    const WeightUse* other = find_use(uses, entry, [](const WeightUse& use) {
      return use.op_type != "Gemm" && use.op_type != "MatMul";
    });
    if (bits == 4 && other != nullptr) {
      refuse(notes, entry,
             fmt::format("has 4 bits in {}: TensorRT has them in Gemm and MatMul", other->op_type));
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

// Per-channel weights are symmetric. Pairs of types are those of each operator: 16-bit weights go
// with 16-bit activations, those below 8 bits only where matrices are multiplied. Source: QNN
// documentation of the HTP backend, operators and their history.
void qnn_htp(std::vector<FileEntry>& entries, const std::vector<WeightUse>& uses, Notes& notes) {
  static const std::set<std::string> kProducts = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  std::set<std::string> narrow;
  for (const FileEntry& entry : entries) {
    if (entry.format.is_integer() && entry.format.bitwidth < 16) narrow.insert(entry.name);
  }
  const auto beside_narrow = [&](const WeightUse& use) { return narrow.count(use.activation) > 0; };
  const auto no_product = [&](const WeightUse& use) { return kProducts.count(use.op_type) == 0; };
  for (FileEntry& entry : entries) {
    if (is_bias(entry) || !entry.format.needs_encoding()) continue;
    const int bits = entry.format.bitwidth;
    if (!entry.format.is_integer()) {
      refuse(notes, entry, fmt::format("is {}, which HTP does not have", entry.format.name()));
    } else if (!entry.parameter && bits != 8 && bits != 16) {
      refuse(notes, entry, fmt::format("is an activation of {} bits: HTP has 8 and 16", bits));
    } else if (const WeightUse* use = find_use(uses, entry, beside_narrow);
               entry.parameter && bits == 16 && use != nullptr) {
      refuse(notes, entry,
             fmt::format("has 16 bits beside activations of 8 in {}: give \"{}\" 16 bits, too",
                         use->op_type, use->activation));
    } else if (const WeightUse* other = find_use(uses, entry, no_product);
               entry.parameter && bits < 8 && other != nullptr) {
      refuse(notes, entry,
             fmt::format("has {} bits in {}: HTP has fewer than 8 in Conv, ConvTranspose, Gemm and "
                         "MatMul",
                         bits, other->op_type));
    } else if (entry.parameter && entry.kind != EntryKind::kPerTensor && has_zero_points(entry)) {
      repair(notes, entry, "several scales allow no zero points");
    }
  }
}

// 8-bit kernels of CPUs without VNNI add two products of 255 and up to 128 in 16 bits. Source: ONNX
// Runtime documentation, "quantize ONNX models", S8S8 and U8U8.
void ort_cpu(std::vector<FileEntry>& entries, const std::vector<WeightUse>& /*uses*/,
             Notes& notes) {
  for (const FileEntry& entry : entries) {
    if (entry.parameter && entry.format == Format::integer(8)) {
      tell(notes, entry,
           "may saturate on CPUs without VNNI: two products can pass 32767; 7 bits can't");
    }
  }
}

using Rule = std::function<void(std::vector<FileEntry>&, const std::vector<WeightUse>&, Notes&)>;

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table = {
      {"onnx", [](std::vector<FileEntry>&, const std::vector<WeightUse>&, Notes&) {}},
      {"ort_cpu", ort_cpu},
      {"qnn_htp", qnn_htp},
      {"tensorrt", tensorrt}};
  return table;
}

}  // namespace

std::vector<ProfileNote> apply_profile(const std::string& profile, std::vector<FileEntry>& entries,
                                       const std::vector<WeightUse>& uses) {
  const auto rule = rules().find(profile);
  if (rule == rules().end()) {
    throw unknown_name("export", "target profile", profile, target_profiles());
  }
  Notes notes;
  rule->second(entries, uses, notes);
  return notes;
}

}  // namespace bitsweep::exporting

namespace bitsweep {

std::vector<std::string> target_profiles() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : exporting::rules()) names.push_back(name);
  return names;
}

}  // namespace bitsweep
