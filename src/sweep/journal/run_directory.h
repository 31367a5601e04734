#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/tensor.h"
#include "sweep/journal/content_key.h"
#include "sweep/journal/database.h"
#include "sweep/journal/folder_lock.h"
#include "sweep/journal/output_file.h"

namespace bitsweep::journal {

/// What is known of one state on one sample.
struct StoredAnswer {
  std::map<Key, std::vector<double>> sums;  ///< by metric
  /// Positions in the output file: of the state, and of the float outputs to compare with.
  std::optional<std::pair<std::int64_t, std::int64_t>> outputs;
};

/// What a sweep found out about one state on one sample.
struct NewAnswer {
  std::vector<std::pair<Key, std::vector<double>>> sums;  ///< by metric
  const std::vector<Tensor>* outputs = nullptr;           ///< null: known already
  const std::vector<Tensor>* reference = nullptr;
};

/// The answers of all sweeps so far, in a folder: journal.sqlite holds scores by content,
/// outputs.bin the outputs they come from, so that another metric needs no run. Killed at any time,
/// it keeps all that was put. Thread-safe.
class RunDirectory {
 public:
  /// `max_output_bytes`: outputs beyond are scored, but not kept. @throws Error(kNotReady) when
  /// another process has the folder; Error(kIo).
  RunDirectory(std::filesystem::path folder, std::int64_t max_output_bytes);

  /// By state, all that is known of a sample.
  std::map<Key, StoredAnswer> answers(const Key& sample);
  /// The sums of one answer, when they are known.
  std::optional<std::vector<double>> sums(const Key& sample, const Key& state, const Key& metric);
  /// Outputs at a position of a StoredAnswer; nullopt when they are damaged.
  std::optional<std::vector<Tensor>> outputs(std::int64_t position) const;
  /// Never fails: when the disk is full, the sweep goes on without a journal and a note says so.
  void put(const Key& sample, const Key& state, const NewAnswer& answer);

  /// What the user should know, a sentence each.
  std::vector<std::string> notes() const;

 private:
  struct Statements;
  void open_database();
  void begin_anew(const std::string& reason);
  void stop_writing(const std::string& reason);
  std::optional<std::pair<std::int64_t, std::int64_t>> store_outputs(const Key& sample,
                                                                     const NewAnswer& answer);

  std::filesystem::path folder_;
  std::int64_t max_output_bytes_;
  FolderLock lock_;
  mutable std::mutex mutex_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Statements> statements_;
  std::unique_ptr<OutputFile> outputs_;
  bool writing_ = true;
  bool limit_noted_ = false;
  std::vector<std::string> notes_;
  /// Positions of float outputs that this object wrote, by sample and content.
  std::map<std::pair<Key, Key>, std::int64_t> references_;
};

}  // namespace bitsweep::journal
