#include "allocate/pareto_walk.h"

#include "allocate/searches/search.h"

namespace bitsweep::allocate {

ParetoWalk::ParetoWalk(const std::vector<GreedyEntry>& entries, std::vector<GroupChange> start,
                       Candidate start_candidate, const BitOperations& cost,
                       const GroupSettings& settings,
                       std::function<double(const std::vector<GroupChange>&)> score)
    : entries_(entries),
      start_(std::move(start)),
      start_candidate_(start_candidate),
      cost_(cost),
      settings_(settings),
      score_(std::move(score)) {}

void ParetoWalk::take_known(const std::vector<GreedyPoint>& points) {
  for (const GreedyPoint& p : points) {
    if (p.position < 0 || p.position >= static_cast<int>(entries_.size())) continue;
    const GreedyEntry& entry = entries_[static_cast<std::size_t>(p.position)];
    if (entry.group == p.group && entry.candidate == p.candidate) points_[p.position] = p;
  }
}

std::vector<GroupChange> ParetoWalk::changes(int position) const {
  std::vector<GroupChange> result = start_;
  for (int i = 0; i <= position; ++i) {
    const GreedyEntry& entry = entries_[static_cast<std::size_t>(i)];
    result.push_back({entry.group, entry.candidate});
  }
  return result;
}

double ParetoWalk::score(int position) {
  searched_.insert(position);
  if (const auto it = points_.find(position); it != points_.end()) return it->second.score;
  const double score = score_(changes(position));
  add(position, score);
  // Where groups share a quantizer, the second change is none: its point was measured, too.
  for (int i = position - 1; i >= 0 && is_same(i, position); --i) add(i, score);
  const int n = static_cast<int>(entries_.size());
  for (int i = position + 1; i < n && is_same(i, position); ++i) add(i, score);
  if (keep_) keep_(points());
  return score;
}

bool ParetoWalk::is_same(int position, int other) const {
  return settings_.types_after(changes(position)) == settings_.types_after(changes(other));
}

void ParetoWalk::add(int position, double score) {
  const GreedyEntry& last = entries_[static_cast<std::size_t>(position)];
  GreedyPoint point{
      .position = position, .group = last.group, .candidate = last.candidate, .score = score};
  std::vector<Candidate> by_group(start_.size(), start_candidate_);
  const double whole = cost_.total(by_group, start_candidate_);
  for (int i = 0; i <= position; ++i) {
    const GreedyEntry& entry = entries_[static_cast<std::size_t>(i)];
    by_group[static_cast<std::size_t>(entry.group)] = entry.candidate;
  }
  // A model without any product has nothing to save.
  if (whole > 0.0) point.relative_bit_ops = cost_.total(by_group, start_candidate_) / whole;
  points_[position] = point;
}

int ParetoWalk::search(const std::string& name, std::optional<double> target) {
  const SearchInfo& info = find_search(name);
  const int n = static_cast<int>(entries_.size());
  if (n == 0) return -1;
  if (!target) {
    for (int i = 0; i < n; ++i) score(i);
    return n - 1;
  }
  const int found = info.search(n, *target, [this](int i) { return score(i); });
  return found == 0 && score(0) < *target ? -1 : found;
}

std::vector<GreedyPoint> ParetoWalk::points() const {
  std::vector<GreedyPoint> result;
  for (const auto& [position, point] : points_) result.push_back(point);
  return result;
}

}  // namespace bitsweep::allocate
