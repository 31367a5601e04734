#include "allocate/mix/mix_groups.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "allocate/weight_grids.h"
#include "bitsweep/error.h"
#include "bitsweep/names.h"

namespace bitsweep::allocate {
namespace {

[[noreturn]] void reject(const std::string& what, const std::string& fix) {
  throw Error(ErrorCode::kInvalidArgument, "mix", what, fix);
}

class Merged {
 public:
  explicit Merged(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  // The smaller index stays, so that groups keep their order.
  void merge(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

bool same_effect(const QuantizerGroup& group, const Candidate& a, const Candidate& b) {
  const bool activations = group.activations.empty() || a.activation == b.activation;
  const bool parameters =
      group.parameters.empty() || (a.parameter == b.parameter && a.granularity == b.granularity);
  return activations && parameters && a.estimator == b.estimator;
}

void check_candidates(const std::vector<Candidate>& candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (candidates[i] == candidates[j])
        reject("the candidate " + mix_candidate_text(candidates[i]) + " is given twice",
               "name it once");
    }
  }
}

/// Kernels know types; granularity and estimators are not theirs.
std::vector<Candidate> types_of(const std::vector<Candidate>& candidates) {
  std::vector<Candidate> types;
  for (const Candidate& c : candidates) types.push_back({c.activation, c.parameter});
  return types;
}

/// Takes candidates from groups whose weights cannot have their granularity; names the first group
/// of each. @throws Error(kInvalidArgument) when that leaves a group with nothing.
void leave_out_misfits(const Simulation& simulation, MixGroups& groups,
                       std::vector<std::vector<bool>>& allowed) {
  for (std::size_t c = 0; c < groups.candidates.size(); ++c) {
    const Candidate& candidate = groups.candidates[c];
    if (!candidate.granularity) continue;
    std::string first;
    int count = 0;
    for (std::size_t g = 0; g < groups.groups.size(); ++g) {
      if (!allowed[g][c]) continue;
      const auto why = misfit(simulation, groups.groups[g], *candidate.granularity);
      if (!why) continue;
      allowed[g][c] = false;
      if (count++ == 0) first = *why;
      if (std::none_of(allowed[g].begin(), allowed[g].end(), [](bool is) { return is; })) {
        reject("the group of \"" + group_name(groups.groups[g]) + "\" cannot be " +
                   mix_candidate_text(candidate) + " (" + *why + "), and has no other candidate",
               "add one without that granularity");
      }
    }
    if (count > 0) {
      groups.notes.push_back(mix_candidate_text(candidate) + " does not fit " +
                             std::to_string(count) + (count == 1 ? " group: " : " groups: ") +
                             first);
    }
  }
}

/// Groups with weights and activations apart, where the kernels take every pair of the candidates'
/// types.
std::vector<QuantizerGroup> taken_apart(const Simulation& simulation,
                                        const std::vector<QuantizerGroup>& groups,
                                        const MixOptions& options) {
  std::vector<Candidate> pairs;
  for (const Candidate& a : options.candidates) {
    for (const Candidate& p : options.candidates) pairs.push_back({a.activation, p.parameter});
  }
  const SupportedCandidates supported =
      supported_candidates(simulation, groups, pairs, options.ignore_kernels);
  std::vector<QuantizerGroup> result;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<Candidate>& list = supported.by_group[g];
    const bool all = std::all_of(pairs.begin(), pairs.end(), [&](const Candidate& pair) {
      return std::find(list.begin(), list.end(), pair) != list.end();
    });
    if (!all || groups[g].activations.empty() || groups[g].parameters.empty()) {
      result.push_back(groups[g]);
    } else {
      result.push_back({.activations = groups[g].activations, .parameters = {}});
      result.push_back({.activations = {}, .parameters = groups[g].parameters});
    }
  }
  return result;
}

}  // namespace

MixGroups make_mix_groups(const Simulation& simulation, const MixOptions& options) {
  check_candidates(options.candidates);
  std::vector<QuantizerGroup> all = quantizer_groups(simulation);
  if (options.apart && !options.candidates.empty()) all = taken_apart(simulation, all, options);
  if (all.empty()) {
    throw Error(ErrorCode::kNotReady, "mix", "no quantizer is enabled", "enable quantizers first");
  }
  const SupportedCandidates supported =
      supported_candidates(simulation, all, types_of(options.candidates), options.ignore_kernels);

  std::map<std::string, std::size_t> group_of;
  std::map<const Quantizer*, std::size_t> group_of_quantizer;
  Merged merged(all.size());
  for (std::size_t g = 0; g < all.size(); ++g) {
    for (const auto* names : {&all[g].activations, &all[g].parameters}) {
      for (const std::string& name : *names) {
        group_of[name] = g;
        const auto [it, is_new] = group_of_quantizer.emplace(simulation.quantizer(name).get(), g);
        if (!is_new) merged.merge(g, it->second);
      }
    }
  }
  const auto group_with = [&](const std::string& tensor) {
    const auto it = group_of.find(tensor);
    if (it == group_of.end()) {
      std::vector<std::string> names;
      for (const auto& entry : group_of) names.push_back(entry.first);
      reject("tensor \"" + tensor + "\" has no enabled quantizer",
             did_you_mean(tensor, names) + "see `bitsweep inspect` for those that have one");
    }
    return it->second;
  };
  for (const std::vector<std::string>& set : options.same_format) {
    for (const std::string& tensor : set) merged.merge(group_with(set.front()), group_with(tensor));
  }

  MixGroups result;
  result.candidates = options.candidates;
  std::map<std::size_t, std::size_t> position;
  std::vector<std::vector<bool>> allowed;  // [group][candidate]
  for (std::size_t g = 0; g < all.size(); ++g) {
    const std::size_t root = merged.find(g);
    if (root == g) {
      position[g] = result.groups.size();
      result.groups.emplace_back();
      allowed.emplace_back(options.candidates.size(), true);
    }
    const std::size_t p = position.at(root);
    QuantizerGroup& into = result.groups[p];
    const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(into.activations, all[g].activations);
    append(into.parameters, all[g].parameters);
    for (std::size_t c = 0; c < options.candidates.size(); ++c) {
      const std::vector<Candidate>& list = supported.by_group[g];
      const bool fits = std::any_of(list.begin(), list.end(), [&](const Candidate& s) {
        return s.activation == options.candidates[c].activation &&
               (!s.parameter || s.parameter == options.candidates[c].parameter);
      });
      allowed[p][c] = allowed[p][c] && fits;
    }
  }
  leave_out_misfits(simulation, result, allowed);
  for (const auto& [tensor, candidate] : options.pinned) {
    const std::size_t p = position.at(merged.find(group_with(tensor)));
    bool is_known = false;
    for (std::size_t c = 0; c < options.candidates.size(); ++c) {
      const bool is_it = same_effect(result.groups[p], options.candidates[c], candidate);
      is_known = is_known || (is_it && allowed[p][c]);
      allowed[p][c] = allowed[p][c] && is_it;
    }
    if (!is_known)
      reject("\"" + tensor + "\" cannot be pinned to " + mix_candidate_text(candidate),
             "pin it to a candidate that is given and that its kernels support");
  }
  for (std::size_t g = 0; g < result.groups.size(); ++g) {
    std::sort(result.groups[g].activations.begin(), result.groups[g].activations.end());
    std::sort(result.groups[g].parameters.begin(), result.groups[g].parameters.end());
    std::vector<Candidate>& choices = result.choices.emplace_back();
    std::vector<int>& indices = result.candidate_of.emplace_back();
    for (std::size_t c = 0; c < options.candidates.size(); ++c) {
      const Candidate& candidate = options.candidates[c];
      const bool is_known = std::any_of(choices.begin(), choices.end(), [&](const Candidate& k) {
        return same_effect(result.groups[g], k, candidate);
      });
      if (!allowed[g][c] || is_known) continue;
      choices.push_back(candidate);
      indices.push_back(static_cast<int>(c));
    }
    if (choices.empty())
      reject("the group of \"" + group_name(result.groups[g]) +
                 "\" has no candidate that all its members support",
             "add one, or take the tensors apart");
  }
  return result;
}

std::vector<std::vector<int>> uniform_choices(const MixGroups& groups,
                                              const std::vector<int>& otherwise) {
  std::vector<std::vector<int>> result;
  for (const Candidate& candidate : groups.candidates) {
    std::vector<int>& choices = result.emplace_back(otherwise);
    for (std::size_t g = 0; g < choices.size(); ++g) {
      const std::vector<Candidate>& list = groups.choices[g];
      const auto it = std::find_if(list.begin(), list.end(), [&](const Candidate& choice) {
        return same_effect(groups.groups[g], choice, candidate);
      });
      if (it != list.end()) choices[g] = static_cast<int>(it - list.begin());
    }
  }
  return result;
}

}  // namespace bitsweep::allocate
