#include "sweep/block_search.h"

#include <algorithm>
#include <iterator>
#include <queue>
#include <utility>

namespace bitsweep::sweeping {
namespace {

constexpr std::size_t kBlock = 48;
// A block is split down to its members in three steps of about twelve runs in all.
constexpr std::size_t kParts = 4;
// Cells that are split at a time: each round of runs reads the samples again.
constexpr std::size_t kAtOnce = 4;
// A member whose error sits on two samples alike is found by either.
constexpr int kAlike = 2;

std::vector<std::vector<std::size_t>> divided(const std::vector<std::size_t>& members,
                                              std::size_t num_parts) {
  std::vector<std::vector<std::size_t>> parts(std::min(num_parts, members.size()));
  for (std::size_t i = 0; i < members.size(); ++i)
    parts[i * parts.size() / members.size()].push_back(members[i]);
  return parts;
}

// Blocks come in pairs, which take turns in taking members.
std::size_t num_pairs(std::size_t num_states) {
  return std::max<std::size_t>(1, (num_states + kBlock) / (2 * kBlock));
}

// What one quantizer breaks, the next one may clip, so that neighbours hide each other.
std::vector<std::vector<std::size_t>> blocks_of(const std::vector<std::size_t>& states) {
  std::vector<std::vector<std::size_t>> blocks;
  for (const std::vector<std::size_t>& pair : divided(states, num_pairs(states.size()))) {
    const std::size_t first = blocks.size();
    blocks.resize(first + std::min<std::size_t>(2, pair.size()));
    for (std::size_t i = 0; i < pair.size(); ++i) blocks[first + i % 2].push_back(pair[i]);
  }
  return blocks;
}

}  // namespace

BlockSearch::BlockSearch(const Sensitivity& sensitivity, const AdaptiveStop& stop,
                         BlockRunner runner)
    : sensitivity_(sensitivity), stop_(stop), runner_(std::move(runner)) {}

Work BlockSearch::work_of_blocks(const std::vector<double>& costs, std::size_t num_samples) {
  Work work;
  const std::size_t num = num_pairs(costs.size());
  for (std::size_t pair = 0; pair < num; ++pair)
    work += {.evaluations = 2.0, .passes = 2.0 * costs[pair * costs.size() / num]};
  return static_cast<double>(num_samples) * work;
}

BlockSearch::Cell BlockSearch::cell_of(std::vector<std::size_t> members, std::size_t place) {
  std::size_t state = members.front();
  if (members.size() > 1) {
    const auto known = states_.find(members);
    state = known != states_.end() ? known->second : runner_.join(members);
    states_.emplace(members, state);
  }
  return {.members = std::move(members), .evaluation = {.state = state, .place = place}};
}

std::vector<BlockSearch::Cell> BlockSearch::parts_of(const Cell& cell) {
  std::vector<Cell> parts;
  for (std::vector<std::size_t>& members : divided(cell.members, kParts))
    parts.push_back(cell_of(std::move(members), cell.evaluation.place));
  return parts;
}

Work BlockSearch::work_of(const std::vector<Cell>& cells) const {
  Work work;
  for (const Cell& cell : cells)
    work += {.evaluations = 1.0, .passes = runner_.cost(cell.evaluation.state)};
  return work;
}

bool BlockSearch::run(const std::vector<Cell>& cells) {
  std::vector<Evaluation> evaluations;
  for (const Cell& cell : cells) evaluations.push_back(cell.evaluation);
  answers_ = runner_.run(evaluations);
  return !answers_.empty();
}

double BlockSearch::lift_of(const Cell& cell) const {
  const auto& [state, place] = cell.evaluation;
  const auto worst = std::ranges::max_element(cell.members, {}, [&](std::size_t member) {
    return sensitivity_.of(answers_[member], num_seen_);
  });
  const double lifted =
      sensitivity_.of(answers_[*worst], num_seen_, &*answers_[state][place], kAlike);
  return sensitivity_.above(lifted, stop_.bar(answers_, *answers_[quiet_][place], kAlike));
}

std::vector<std::size_t> BlockSearch::find(std::size_t quiet, std::size_t num_seen,
                                           std::size_t num_samples, WorkBudget* budget) {
  quiet_ = quiet;
  num_seen_ = num_seen;
  const std::vector<std::size_t>& closed = stop_.closed_first();
  std::vector<Cell> cells;
  for (const auto& block : blocks_of(closed)) {
    for (std::size_t place = num_seen; place < num_samples; ++place)
      cells.push_back(cell_of(block, place));
  }
  std::vector<std::size_t> found;
  if (cells.empty()) return found;
  const auto less = [](const Cell& a, const Cell& b) { return a.lift < b.lift; };
  std::priority_queue<Cell, std::vector<Cell>, decltype(less)> standing_out(less);
  const auto affordable = [&](const Work& work) {
    complete_ = budget->allows(work);
    if (complete_) budget->spend(work);
    return complete_;
  };
  Work work = work_of(cells);
  work.passes += static_cast<double>(num_samples - num_seen);  // that are opened
  if (!affordable(work) || !run(cells)) return found;
  while (!cells.empty()) {
    for (Cell& cell : cells) {
      cell.lift = lift_of(cell);
      if (cell.lift <= 0.0) continue;
      if (cell.members.size() == 1) {
        found.push_back(cell.members.front());
      } else {
        standing_out.push(std::move(cell));
      }
    }
    cells.clear();
    work = {};
    for (std::size_t i = 0; i < kAtOnce && !standing_out.empty(); ++i) {
      std::vector<Cell> parts = parts_of(standing_out.top());
      standing_out.pop();
      work += Work{.passes = 1.0};  // the sample is opened again
      std::ranges::move(parts, std::back_inserter(cells));
    }
    work += work_of(cells);
    if (!affordable(work) || !run(cells)) break;
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

}  // namespace bitsweep::sweeping
