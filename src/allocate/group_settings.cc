#include "allocate/group_settings.h"

#include "bitsweep/error.h"

namespace bitsweep::allocate {

SavedSettings::SavedSettings(const Simulation& simulation) {
  std::set<const Quantizer*> seen;
  for (const std::string& name : simulation.tensor_names()) {
    std::shared_ptr<Quantizer> q = simulation.quantizer(name);
    if (seen.insert(q.get()).second) saved_.emplace_back(q, q->snapshot());
  }
}

void SavedSettings::restore() const {
  for (const auto& [quantizer, snapshot] : saved_) quantizer->restore(*snapshot);
}

void require_types_only(const Candidate& candidate) {
  if (!candidate.granularity && !candidate.estimator) return;
  throw Error(ErrorCode::kInvalidArgument, "mixed precision",
              "the candidate " + candidate_text(candidate) + " is more than a pair of types",
              "give types alone, or use mix()");
}

GroupSettings::GroupSettings(Simulation& simulation, std::vector<QuantizerGroup> groups)
    : simulation_(simulation), groups_(std::move(groups)) {}

void GroupSettings::set(const GroupChange& change) {
  const QuantizerGroup& group = groups_[static_cast<std::size_t>(change.group)];
  for (const std::string& t : group.activations)
    simulation_.quantizer(t)->set_format(change.candidate.activation);
  if (!change.candidate.parameter) return;
  for (const std::string& t : group.parameters)
    simulation_.quantizer(t)->set_format(*change.candidate.parameter);
}

std::map<const Quantizer*, Format> GroupSettings::types_after(
    const std::vector<GroupChange>& changes) const {
  std::map<const Quantizer*, Format> types;
  for (const auto& [g, candidate] : changes) {
    const QuantizerGroup& group = groups_[static_cast<std::size_t>(g)];
    for (const std::string& t : group.activations)
      types[simulation_.quantizer(t).get()] = candidate.activation;
    if (!candidate.parameter) continue;
    for (const std::string& t : group.parameters)
      types[simulation_.quantizer(t).get()] = *candidate.parameter;
  }
  return types;
}

void GroupSettings::enable(int group, bool on) {
  for (const std::string& t : tensors(group)) simulation_.quantizer(t)->set_enabled(on);
}

void GroupSettings::enable_all(bool on) {
  for (int g = 0; g < size(); ++g) enable(g, on);
}

std::vector<std::string> GroupSettings::tensors(int group) const {
  const QuantizerGroup& g = groups_[static_cast<std::size_t>(group)];
  std::vector<std::string> names = g.activations;
  names.insert(names.end(), g.parameters.begin(), g.parameters.end());
  return names;
}

Candidate GroupSettings::current(int group) const {
  const QuantizerGroup& g = groups_[static_cast<std::size_t>(group)];
  Candidate result;
  if (!g.activations.empty()) result.activation = simulation_.quantizer(g.activations[0])->format();
  if (!g.parameters.empty()) result.parameter = simulation_.quantizer(g.parameters[0])->format();
  return result;
}

}  // namespace bitsweep::allocate
