#include "distlock/error.h"
#include "resource.h"
#include "sqlite_guard.h"

namespace faults {
namespace {

class SqliteResource : public Resource {
 public:
  SqliteResource(const std::string& path, std::string name, bool guarded)
      : db_(guarded::open_resources(path)), name_(std::move(name)), guarded_(guarded) {}

  std::optional<std::int64_t> read(const distlock::LockRecord&) override {
    return guarded::read_value(db_.get(), name_);
  }

  guarded::Outcome write(const distlock::LockRecord& hold, std::int64_t value) override {
    try {
      if (guarded_) return guarded::write_value(db_.get(), hold, name_, value);
      write_bare(value);
      return guarded::Outcome::written;
    } catch (const std::runtime_error& error) {
      // An error in COMMIT leaves it open whether the statement was made.
      throw distlock::Error(distlock::Errc::outcome_unknown, error.what());
    }
  }

 private:
  void write_bare(std::int64_t value) {
    const std::string sql =
        "REPLACE INTO resources(id, value) VALUES('" + name_ + "', " + std::to_string(value) + ')';
    if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(db_.get()));
  }

  guarded::Database db_;
  std::string name_;
  bool guarded_;
};

}  // namespace

std::unique_ptr<Resource> make_sqlite_resource(const std::string& path, const std::string& name,
                                               bool guarded) {
  return std::make_unique<SqliteResource>(path, name, guarded);
}

}  // namespace faults
