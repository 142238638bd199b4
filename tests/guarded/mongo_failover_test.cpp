#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <memory>

#include "distlock/error.h"
#include "guarded/mongo_counter.h"
#include "mongo/faults.h"
#include "mongo_document.h"

namespace distlock::testing {
namespace {

using guarded::Outcome;
using guarded::Stamp;

const Token kEarlier{{1}};
const Token kLater{{2}};

/// One writer of the resource "r" of a replica set.
class Writer {
 public:
  explicit Writer(const Server& server)
      : client_(mongoc_client_new(
            server.connection("socketTimeoutMS=1000&serverSelectionTimeoutMS=1000")
                .text()
                .c_str())),
        resources_(
            mongoc_client_get_collection(client_.get(), server.database().c_str(), "resources")) {}

  std::optional<Outcome> write(const Stamp& stamp, std::int64_t value) const {
    try {
      return guarded::write_value(resources_.get(), "r", stamp, value);
    } catch (const Error&) {
      return std::nullopt;  // Whether it was made cannot be known.
    }
  }
  /// With the same stamp, until the outcome is known.
  Outcome write_surely(const Stamp& stamp, std::int64_t value) const {
    std::optional<Outcome> outcome;
    wait_until("a write of known outcome", [&] { return bool(outcome = write(stamp, value)); });
    return *outcome;
  }
  std::optional<std::int64_t> read(const Stamp& stamp) const {
    return guarded::read_value(resources_.get(), "r", stamp);
  }

 private:
  MongoClient client_;
  Collection resources_;
};

/// A primary that hands over, and one that is not heard of until there is another.
void fail_over_twice() {
  const auto ports = ports_of(replica_set_uri());
  step_up(replica_set_uri(), without(ports, primary_among(ports)).front());
  const int silent = primary_among(ports);
  {
    const Stopped primary(silent);
    elect_among(without(ports, silent));
  }
  wait_until_whole(replica_set_uri());
}

TEST_CASE("a document with a fence: fail-overs lose no write and let no earlier hold through",
          "[guarded][R8][R10]") {
  wait_until_whole(replica_set_uri());
  const Server server(replica_set_uri());
  const Writer holder(server);
  REQUIRE(holder.write_surely({.fence = 2, .ts = kLater, .number = 1}, 1) == Outcome::written);

  std::atomic<bool> over = false;
  std::atomic<int> refused = 0;
  std::atomic<std::int64_t> last = 1;
  auto late_writes = std::async(std::launch::async, [&] {
    const Writer late(server);
    bool none_came_through = true;
    for (std::int64_t number = 1; !over; ++number) {
      const auto outcome = late.write({.fence = 1, .ts = kEarlier, .number = number}, -number);
      if (outcome == Outcome::refused) ++refused;
      if (outcome == Outcome::written) none_came_through = false;
    }
    return none_came_through;
  });
  auto writes = std::async(std::launch::async, [&] {
    bool all_came_through = true;
    for (std::int64_t number = 2; !over; ++number) {
      const Stamp stamp{.fence = 2, .ts = kLater, .number = number};
      if (holder.write_surely(stamp, number) != Outcome::written) all_came_through = false;
      last = number;
    }
    return all_came_through;
  });
  // Or they would write for ever if a wait throws.
  const std::shared_ptr<void> ending(nullptr, [&](void*) { over = true; });
  fail_over_twice();
  wait_until("writes on both sides", [&] { return refused > 0 && last > 1; });
  over = true;
  CHECK(writes.get());
  CHECK(late_writes.get());
  CHECK(holder.read({.fence = 2, .ts = kLater, .number = last + 1}) == last);
}

}  // namespace
}  // namespace distlock::testing
