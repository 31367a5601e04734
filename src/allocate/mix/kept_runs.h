#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/network/network.h"
#include "sweep/journal/content_key.h"
#include "sweep/journal/run_directory.h"

namespace bitsweep::allocate {

/// What earlier runs gave, by content of model, encodings and sample, in a run directory; without
/// one nothing is known and nothing is kept. find() and keep() are thread-safe.
class KeptRuns {
 public:
  /// `folder`: empty for none. @throws Error(kNotReady) when another process has it; Error(kIo).
  explicit KeptRuns(const std::filesystem::path& folder);

  bool is_open() const { return directory_ != nullptr; }
  journal::Key key_of(const Feed& feed) const;
  /// Of the quantizers of these states, as they are set now.
  std::vector<journal::Key> keys_of(const Simulation& simulation,
                                    const std::vector<simulate::State>& states) const;

  /// `what`: the numbers asked for, such as "change of the outputs".
  std::optional<std::vector<double>> find(const journal::Key& sample, const journal::Key& state,
                                          std::string_view what);
  void keep(const journal::Key& sample, const journal::Key& state, std::string_view what,
            std::vector<double> numbers);

  /// The same for what is no run: it is not counted.
  std::optional<std::vector<double>> look_up(const journal::Key& sample, const journal::Key& state,
                                             std::string_view what) const;
  void write_down(const journal::Key& sample, const journal::Key& state, std::string_view what,
                  std::vector<double> numbers);

  std::int64_t num_found() const { return num_found_; }
  std::int64_t num_run() const { return num_run_; }
  std::vector<std::string> notes() const;

 private:
  std::unique_ptr<journal::RunDirectory> directory_;
  std::atomic<std::int64_t> num_found_ = 0;
  std::atomic<std::int64_t> num_run_ = 0;
};

}  // namespace bitsweep::allocate
