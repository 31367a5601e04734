#pragma once

#include <string>
#include <vector>

#include "bitsweep/mix.h"

namespace bitsweep::allocate {

/// Groups that can be decided apart, with what each may become.
struct MixGroups {
  std::vector<QuantizerGroup> groups;
  std::vector<std::vector<Candidate>> choices;  ///< by group; distinct in effect
  /// The candidate of the caller's list behind each choice.
  std::vector<std::vector<int>> candidate_of;
  std::vector<Candidate> candidates;  ///< distinct, in the caller's order
  std::vector<std::string> notes;     ///< candidates that groups cannot have for their shapes
};

/// Quantizer groups, merged where they share a quantizer or where `same_format` asks for it, with
/// the candidates that the kernels of all members support and whose granularity all weights can
/// have; pinned ones keep a single choice.
/// @throws Error(kInvalidArgument): no or duplicate candidates, unknown tensors, a group that is
/// left without a candidate.
MixGroups make_mix_groups(const Simulation& simulation, const MixOptions& options);

/// By candidate: the choices that give it to all groups. A group that cannot have it gets
/// its choice of `otherwise`.
std::vector<std::vector<int>> uniform_choices(const MixGroups& groups,
                                              const std::vector<int>& otherwise);

}  // namespace bitsweep::allocate
