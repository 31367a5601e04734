#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace bitsweep::journal {

/// What SQLite answered when it could not do its work.
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  int code() const { return code_; }
  /// The file holds something else than a whole database.
  bool damaged() const;

 private:
  int code_;
};

/// A prepared statement; parameters count from 1, columns from 0.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql);

  Statement& bind(int parameter, std::string_view blob);
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind_null(int parameter);
  /// Runs to the next row; false (and ready for other parameters) at the end.
  bool step();
  void reset();

  std::string blob(int column) const;
  std::int64_t integer(int column) const;
  bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// One SQLite file, used by one thread at a time and by this process alone. Every statement is a
/// transaction of its own: after a crash of the process all that were finished are there.
class Database {
 public:
  /// @throws DatabaseError.
  explicit Database(const std::filesystem::path& path);

  void execute(const std::string& sql);
  Statement prepare(std::string_view sql) const { return {database_.get(), sql}; }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace bitsweep::journal
