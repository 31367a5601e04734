#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/allocation.h"
#include "bitsweep/quantizer.h"
#include "bitsweep/simulation.h"

namespace bitsweep::allocate {

/// Settings of all quantizers of a simulation, to be put back.
class SavedSettings {
 public:
  explicit SavedSettings(const Simulation& simulation);
  void restore() const;

 private:
  std::vector<std::pair<std::shared_ptr<Quantizer>, std::shared_ptr<const Quantizer::Snapshot>>>
      saved_;
};

/// Refuses a candidate with a granularity or an estimator: groups are changed in their types.
/// @throws Error(kInvalidArgument).
void require_types_only(const Candidate& candidate);

/// A change of one group.
struct GroupChange {
  int group = 0;
  Candidate candidate;
};

/// Sets formats and switches of quantizer groups.
class GroupSettings {
 public:
  GroupSettings(Simulation& simulation, std::vector<QuantizerGroup> groups);

  const std::vector<QuantizerGroup>& groups() const { return groups_; }
  int size() const { return static_cast<int>(groups_.size()); }

  void set(const GroupChange& change);
  /// Types that changes, made in their order, give to all quantizers of groups; the last change of
  /// a quantizer that several groups share counts.
  std::map<const Quantizer*, Format> types_after(const std::vector<GroupChange>& changes) const;
  /// A quantizer that several groups share is switched by each of them.
  void enable(int group, bool on);
  void enable_all(bool on);
  std::vector<std::string> tensors(int group) const;
  /// Types the quantizers have now: the first activation, the first parameter.
  Candidate current(int group) const;

 private:
  Simulation& simulation_;
  std::vector<QuantizerGroup> groups_;
};

}  // namespace bitsweep::allocate
