#include <stdexcept>

#include "guarded/worker.h"
#include "postgres_guard.h"

namespace distlock::testing {
namespace {

class PostgresCounter : public Counter {
 public:
  explicit PostgresCounter(const CounterPlace& place)
      : place_(place), connection_(PQconnectdb(place.resource.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
  }

  void begin(const LockRecord& hold) override {
    stamp_ = {.fence = hold.fence, .ts = hold.ts.value(), .number = 0};
  }

  std::int64_t read() override {
    if (!place_.guarded) return peek();
    ++stamp_.number;
    const auto value = guarded::read_value(connection_.get(), place_.name, stamp_);
    if (!value) throw std::runtime_error("the read was refused");
    return *value;
  }

  bool write(std::int64_t value) override {
    ++stamp_.number;
    if (place_.guarded)
      return guarded::write_value(connection_.get(), place_.name, stamp_, value) ==
             guarded::Outcome::written;
    const std::string text = std::to_string(value);
    return number("INSERT INTO resources VALUES ('" + place_.name + "', 0, '', 0, " + text +
                  ") ON CONFLICT (id) DO UPDATE SET value = excluded.value RETURNING value") ==
           value;
  }

  std::int64_t peek() override {
    return number("SELECT coalesce(max(value), 0) FROM resources WHERE id = '" + place_.name + "'");
  }

 private:
  std::int64_t number(const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection_.get(), sql.c_str()), PQclear);
    if (PQntuples(result.get()) != 1) throw std::runtime_error(PQerrorMessage(connection_.get()));
    return std::stoll(PQgetvalue(result.get(), 0, 0));
  }

  CounterPlace place_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  guarded::Stamp stamp_;
};

}  // namespace

std::unique_ptr<Counter> make_counter(const CounterPlace& place) {
  return std::make_unique<PostgresCounter>(place);
}

}  // namespace distlock::testing
