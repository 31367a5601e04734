#include "sweep/journal/run_directory.h"

#include <cstring>
#include <system_error>

#include "base/sha256.h"
#include "bitsweep/error.h"

namespace bitsweep::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSchema = 1;

constexpr const char* kTables = R"sql(
CREATE TABLE IF NOT EXISTS scores(
  sample BLOB, state BLOB, metric BLOB, sums BLOB,
  PRIMARY KEY(sample, state, metric)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outputs(
  sample BLOB, state BLOB, simulated INTEGER, reference INTEGER,
  PRIMARY KEY(sample, state)) WITHOUT ROWID;
)sql";

fs::path made(fs::path folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  // In a folder that may not be entered even looking fails.
  std::error_code unseen;
  if (!fs::is_directory(folder, unseen)) {
    if (!failure) failure = unseen;
    throw Error(ErrorCode::kIo, "run directory",
                folder.string() + " cannot be made: " +
                    (failure ? failure.message() : std::string("it is a file")),
                "choose another folder");
  }
  return folder;
}

std::string bytes_of(const std::vector<double>& sums) {
  return {reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(double)};
}

std::vector<double> sums_of(const std::string& bytes) {
  std::vector<double> sums(bytes.size() / sizeof(double));
  if (!sums.empty()) std::memcpy(sums.data(), bytes.data(), sums.size() * sizeof(double));
  return sums;
}

Key content_of(const std::vector<Tensor>& outputs) {
  Sha256 hash;
  for (const Tensor& t : outputs) hash.add(t.data(), t.size_bytes());
  return hash.digest();
}

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kMega = 1'000'000;
  return std::to_string(bytes / kMega) + " MB";
}

}  // namespace

struct RunDirectory::Statements {
  explicit Statements(const Database& database)
      : begin(database.prepare("BEGIN IMMEDIATE")),
        commit(database.prepare("COMMIT")),
        rollback(database.prepare("ROLLBACK")),
        put_scores(database.prepare("INSERT OR REPLACE INTO scores VALUES(?1, ?2, ?3, ?4)")),
        put_outputs(database.prepare("INSERT OR REPLACE INTO outputs VALUES(?1, ?2, ?3, ?4)")),
        scores(database.prepare("SELECT state, metric, sums FROM scores WHERE sample = ?1")),
        outputs(
            database.prepare("SELECT state, simulated, reference FROM outputs WHERE sample = ?1")),
        sums(database.prepare(
            "SELECT sums FROM scores WHERE sample = ?1 AND state = ?2 AND metric = ?3")) {}
  Statement begin;
  Statement commit;
  Statement rollback;
  Statement put_scores;
  Statement put_outputs;
  Statement scores;
  Statement outputs;
  Statement sums;
};

RunDirectory::RunDirectory(fs::path folder, std::int64_t max_output_bytes)
    : folder_(made(std::move(folder))), max_output_bytes_(max_output_bytes), lock_(folder_) {
  try {
    try {
      open_database();
    } catch (const DatabaseError& error) {
      if (!error.damaged()) throw;
      begin_anew("is damaged");
    }
    outputs_ = std::make_unique<OutputFile>(folder_ / "outputs.bin");
    Statement last = database_->prepare(
        "SELECT max(max(simulated, reference)) + 1 FROM outputs HAVING count(*) > 0");
    if (last.step()) outputs_->skip_to(last.integer(0));
  } catch (const DatabaseError& error) {
    throw Error(ErrorCode::kIo, "run directory",
                (folder_ / "journal.sqlite").string() + " cannot be opened: " + error.what(),
                "free some space, or choose a folder that you may write to");
  }
}

void RunDirectory::open_database() {
  database_ = std::make_unique<Database>(folder_ / "journal.sqlite");
  Statement version = database_->prepare("PRAGMA user_version");
  version.step();
  const std::int64_t schema = version.integer(0);
  version.reset();
  if (schema != 0 && schema != kSchema) {
    begin_anew("was written by another version of bitsweep");
    return;
  }
  Statement check = database_->prepare("PRAGMA quick_check(1)");
  const bool whole = check.step() && check.blob(0) == "ok";
  check.reset();
  if (!whole) {
    begin_anew("is damaged");
    return;
  }
  database_->execute(kTables);
  database_->execute("PRAGMA user_version = " + std::to_string(kSchema));
  statements_ = std::make_shared<Statements>(*database_);
}

void RunDirectory::begin_anew(const std::string& reason) {
  statements_.reset();
  database_.reset();
  outputs_.reset();
  const fs::path journal = folder_ / "journal.sqlite";
  fs::path aside = journal;
  aside += ".old";
  std::error_code failure;
  fs::rename(journal, aside, failure);
  for (const char* name : {"journal.sqlite-wal", "journal.sqlite-shm", "outputs.bin"})
    fs::remove(folder_ / name, failure);
  notes_.push_back("the journal in " + folder_.string() + " " + reason + "; it is kept as " +
                   aside.filename().string() + " and begun anew");
  database_ = std::make_unique<Database>(journal);
  database_->execute(kTables);
  database_->execute("PRAGMA user_version = " + std::to_string(kSchema));
  statements_ = std::make_shared<Statements>(*database_);
}

void RunDirectory::stop_writing(const std::string& reason) {
  if (!writing_) return;
  writing_ = false;
  notes_.push_back("the journal in " + folder_.string() + " cannot be written: " + reason +
                   "; the sweep went on without it, so free some space before the next one");
}

std::map<Key, StoredAnswer> RunDirectory::answers(const Key& sample) {
  std::map<Key, StoredAnswer> found;
  const std::lock_guard lock(mutex_);
  try {
    Statement& scores = statements_->scores.bind(1, sample);
    while (scores.step()) found[scores.blob(0)].sums[scores.blob(1)] = sums_of(scores.blob(2));
    Statement& outputs = statements_->outputs.bind(1, sample);
    while (outputs.step())
      found[outputs.blob(0)].outputs = {outputs.integer(1), outputs.integer(2)};
  } catch (const DatabaseError& error) {
    found.clear();
    stop_writing(error.what());
  }
  return found;
}

std::optional<std::vector<double>> RunDirectory::sums(const Key& sample, const Key& state,
                                                      const Key& metric) {
  const std::lock_guard lock(mutex_);
  try {
    Statement& row = statements_->sums.bind(1, sample).bind(2, state).bind(3, metric);
    std::optional<std::vector<double>> found;
    if (row.step()) found = sums_of(row.blob(0));
    row.reset();
    return found;
  } catch (const DatabaseError& error) {
    stop_writing(error.what());
    return std::nullopt;
  }
}

std::optional<std::vector<Tensor>> RunDirectory::outputs(std::int64_t position) const {
  return outputs_->read(position);
}

std::optional<std::pair<std::int64_t, std::int64_t>> RunDirectory::store_outputs(
    const Key& sample, const NewAnswer& answer) {
  if (answer.outputs == nullptr) return std::nullopt;
  const std::pair reference{sample, content_of(*answer.reference)};
  const auto known = references_.find(reference);
  std::int64_t bytes = OutputFile::record_bytes(*answer.outputs);
  if (known == references_.end()) bytes += OutputFile::record_bytes(*answer.reference);
  if (outputs_->size_bytes() + bytes > max_output_bytes_) {
    if (!limit_noted_ && max_output_bytes_ > 0) {
      notes_.push_back("outputs beyond " + size_text(max_output_bytes_) +
                       " are not kept: another metric has to run those again");
    }
    limit_noted_ = true;
    return std::nullopt;
  }
  const std::int64_t at =
      known != references_.end() ? known->second : outputs_->append(*answer.reference);
  references_[reference] = at;
  return std::pair{outputs_->append(*answer.outputs), at};
}

void RunDirectory::put(const Key& sample, const Key& state, const NewAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (!writing_) return;
  bool open = false;
  try {
    const auto positions = store_outputs(sample, answer);
    statements_->begin.step();
    open = true;
    for (const auto& [metric, sums] : answer.sums) {
      statements_->put_scores.bind(1, sample).bind(2, state).bind(3, metric).bind(4,
                                                                                  bytes_of(sums));
      statements_->put_scores.step();
    }
    if (positions) {
      statements_->put_outputs.bind(1, sample)
          .bind(2, state)
          .bind(3, positions->first)
          .bind(4, positions->second);
      statements_->put_outputs.step();
    }
    statements_->commit.step();
  } catch (const Error& error) {
    stop_writing(error.what());
  } catch (const DatabaseError& error) {
    stop_writing(error.what());
    try {
      if (open) statements_->rollback.step();
    } catch (const DatabaseError&) {
      // SQLite has rolled back by itself.
      open = false;
    }
  }
}

std::vector<std::string> RunDirectory::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

}  // namespace bitsweep::journal
