#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "allocate/group_settings.h"
#include "bitsweep/allocation.h"

namespace bitsweep::allocate {

/// The way down a list of changes: point i is the start with the entries 0 to i applied in order.
class ParetoWalk {
 public:
  /// `score` sets changes, makes the model ready and scores it; `settings` knows which of them come
  /// to the same.
  ParetoWalk(const std::vector<GreedyEntry>& entries, std::vector<GroupChange> start,
             Candidate start_candidate, const BitOperations& cost, const GroupSettings& settings,
             std::function<double(const std::vector<GroupChange>&)> score);

  /// Points that need no run.
  void take_known(const std::vector<GreedyPoint>& points);
  void on_point(std::function<void(const std::vector<GreedyPoint>&)> keep) {
    keep_ = std::move(keep);
  }

  /// Position of the chosen point, -1 for the start itself. Without a target every point is
  /// measured and the last one chosen.
  int search(const std::string& name, std::optional<double> target);
  double score(int position);

  /// The start with the entries 0 to position.
  std::vector<GroupChange> changes(int position) const;
  std::vector<GreedyPoint> points() const;  ///< measured ones, by position
  /// How many points the search looked at.
  int num_searched() const { return static_cast<int>(searched_.size()); }

 private:
  void add(int position, double score);
  bool is_same(int position, int other) const;

  const std::vector<GreedyEntry>& entries_;
  std::vector<GroupChange> start_;
  Candidate start_candidate_;
  const BitOperations& cost_;
  const GroupSettings& settings_;
  std::function<double(const std::vector<GroupChange>&)> score_;
  std::function<void(const std::vector<GreedyPoint>&)> keep_;
  std::map<int, GreedyPoint> points_;
  std::set<int> searched_;
};

}  // namespace bitsweep::allocate
