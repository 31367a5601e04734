#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Scores that a function of the user's own gave to states of a simulation, kept in a run directory
/// beside the answers of sweeps.
///
/// A score is found again by content: graph, weights, versions of bitsweep and ONNX Runtime, format
/// and encoding of each enabled quantizer, and the identity of the function.
class ScoreJournal {
 public:
  /// `identity` stands for all else that decides a score: the function, its samples, its labels.
  /// `reuse`: whether the states run between begin_reuse() and end_reuse(), where sums are added in
  /// another order.
  /// @throws Error(kNotReady) when another process uses the folder; Error(kIo).
  ScoreJournal(const Simulation& simulation, const std::filesystem::path& folder,
               std::string_view identity, bool reuse);
  ~ScoreJournal();
  ScoreJournal(const ScoreJournal&) = delete;
  ScoreJournal& operator=(const ScoreJournal&) = delete;

  /// Score with just the quantizers of these tensors enabled, if it is known.
  std::optional<double> find(const std::vector<std::string>& enabled) const;
  /// Never fails: when the disk is full, the scores are not kept and a note says so.
  void put(const std::vector<std::string>& enabled, double score);

  /// Lets other processes have the folder; nothing can be found or put afterwards.
  void close();

  /// What the user should know, a sentence each.
  std::vector<std::string> notes() const;

 private:
  struct Parts;
  Parts& parts() const;
  std::unique_ptr<Parts> parts_;
};

}  // namespace BITSWEEP_EXPORT bitsweep
