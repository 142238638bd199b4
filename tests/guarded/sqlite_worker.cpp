#include "guarded/worker.h"
#include "sqlite_guard.h"

namespace distlock::testing {
namespace {

class SqliteCounter : public Counter {
 public:
  explicit SqliteCounter(const CounterPlace& place)
      : place_(place), db_(guarded::open_resources(place.resource)) {}

  void begin(const LockRecord& hold) override { hold_ = hold; }
  std::int64_t read() override { return peek(); }

  bool write(std::int64_t value) override {
    if (place_.guarded)
      return guarded::write_value(db_.get(), hold_, place_.name, value) ==
             guarded::Outcome::written;
    const std::string sql = "REPLACE INTO resources(id, value) VALUES('" + place_.name + "', " +
                            std::to_string(value) + ')';
    return sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  std::int64_t peek() override { return guarded::read_value(db_.get(), place_.name); }

 private:
  CounterPlace place_;
  guarded::Database db_;
  LockRecord hold_;
};

}  // namespace

std::unique_ptr<Counter> make_counter(const CounterPlace& place) {
  return std::make_unique<SqliteCounter>(place);
}

}  // namespace distlock::testing
