#include "allocate/mix/kept_runs.h"

namespace bitsweep::allocate {

// Numbers of a mix, not outputs: those of large models would fill the disk.
constexpr std::int64_t kNoOutputs = 0;

KeptRuns::KeptRuns(const std::filesystem::path& folder) {
  if (!folder.empty()) directory_ = std::make_unique<journal::RunDirectory>(folder, kNoOutputs);
}

journal::Key KeptRuns::key_of(const Feed& feed) const {
  return is_open() ? journal::key_of(feed) : journal::Key();
}

std::vector<journal::Key> KeptRuns::keys_of(const Simulation& simulation,
                                            const std::vector<simulate::State>& states) const {
  std::vector<journal::Key> keys(states.size());
  if (!is_open()) return keys;
  const journal::StateKeys all(simulation, "mix");
  for (std::size_t s = 0; s < states.size(); ++s) keys[s] = all.of(states[s]);
  return keys;
}

std::optional<std::vector<double>> KeptRuns::look_up(const journal::Key& sample,
                                                     const journal::Key& state,
                                                     std::string_view what) const {
  if (!is_open()) return std::nullopt;
  return directory_->sums(sample, state, journal::key_of(what, {}, {}));
}

void KeptRuns::write_down(const journal::Key& sample, const journal::Key& state,
                          std::string_view what, std::vector<double> numbers) {
  if (!is_open()) return;
  journal::NewAnswer answer;
  answer.sums.emplace_back(journal::key_of(what, {}, {}), std::move(numbers));
  directory_->put(sample, state, answer);
}

std::optional<std::vector<double>> KeptRuns::find(const journal::Key& sample,
                                                  const journal::Key& state,
                                                  std::string_view what) {
  std::optional<std::vector<double>> numbers = look_up(sample, state, what);
  if (numbers) ++num_found_;
  return numbers;
}

void KeptRuns::keep(const journal::Key& sample, const journal::Key& state, std::string_view what,
                    std::vector<double> numbers) {
  ++num_run_;
  write_down(sample, state, what, std::move(numbers));
}

std::vector<std::string> KeptRuns::notes() const {
  return is_open() ? directory_->notes() : std::vector<std::string>();
}

}  // namespace bitsweep::allocate
