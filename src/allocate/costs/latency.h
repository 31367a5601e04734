#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bitsweep/allocation.h"
#include "bitsweep/budget.h"
#include "bitsweep/simulation.h"

namespace bitsweep::allocate {

/// Times of operators on the target, by type, output shape and types of the operands.
///
/// CSV with the header `operator,shape,weights,activations,ms`: shape as in 1x64x56x56; types as in
/// int8 or float32, `weights` also for the second operand of operators without weights, "-" when
/// there is none; "*" stands for any shape or type. The most exact row counts.
class LatencyTable {
 public:
  /// @throws Error(kNotFound | kInvalidData) naming the line.
  explicit LatencyTable(const std::filesystem::path& file);

  bool has_operator(const std::string& type) const { return rows_.count(type) > 0; }
  /// Milliseconds; nullopt when no row fits.
  std::optional<double> find(const std::string& type, const std::string& shape,
                             const std::string& weights, const std::string& activations) const;

 private:
  struct Row {
    std::string shape;
    std::string weights;
    std::string activations;
    double ms = 0.0;
  };
  void add(const std::string& line, const std::string& place);

  std::map<std::string, std::vector<Row>> rows_;
};

/// Milliseconds of all operators of the table; types of operators without any row count nothing and
/// are named in `notes`. @throws Error(kInvalidData) naming the operator that lacks its row.
CostTable latency_cost(const Simulation& simulation, const std::filesystem::path& file,
                       const std::vector<QuantizerGroup>& groups,
                       const std::vector<std::vector<Candidate>>& choices,
                       std::vector<std::string>* notes);

}  // namespace bitsweep::allocate
