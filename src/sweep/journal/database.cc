#include "sweep/journal/database.h"

#include <sqlite3.h>

namespace bitsweep::journal {
namespace {

[[noreturn]] void fail(sqlite3* database, int code) {
  throw DatabaseError(code, database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code));
}

}  // namespace

bool DatabaseError::damaged() const {
  const int primary = code_ & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(sqlite3* database, std::string_view sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) fail(database, code);
  statement_.reset(statement);
}

Statement& Statement::bind(int parameter, std::string_view blob) {
  const int code =
      sqlite3_bind_blob64(statement_.get(), parameter, blob.data(), blob.size(), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) fail(database_, code);
  return *this;
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), parameter, value);
  if (code != SQLITE_OK) fail(database_, code);
  return *this;
}

Statement& Statement::bind_null(int parameter) {
  const int code = sqlite3_bind_null(statement_.get(), parameter);
  if (code != SQLITE_OK) fail(database_, code);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  const DatabaseError error(code, sqlite3_errmsg(database_));
  reset();
  throw error;
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::string Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(const std::filesystem::path& path) {
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) fail(database, code);
  sqlite3_extended_result_codes(database, 1);
  // One process only, so the write-ahead log needs no shared memory and works on every file system.
  // NORMAL: a crash of the machine may lose the last rows, one of the process none.
  execute(
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(database_.get(), code);
}

}  // namespace bitsweep::journal
