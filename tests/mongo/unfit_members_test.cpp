// A mirrored store of MongoDB servers of which one cannot serve: it is of an old version, too new
// for the driver, or none that stands alone. Without a real server.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "distlock/members.h"
#include "distlock/stores.h"
#include "mongo/recorded.h"
#include "stores/mirrored/identity.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

const std::string kSetOfTwo = "5d7f0000000000000000aa01";
// As in standalone_hello().
const std::string kNowThere = R"({"$date": {"$numberLong": "1300000000000"}})";
const std::string kOldVersions = R"("minWireVersion": 0, "maxWireVersion": 7)";

Bson greeting(const std::string& fields = standalone_hello()) { return json('{' + fields + '}'); }

std::string with_versions(const std::string& versions) {
  const std::string usual = R"("minWireVersion": 0, "maxWireVersion": 17)";
  std::string fields = standalone_hello();
  return fields.replace(fields.find(usual), usual.size(), versions);
}

std::string address_of(const MockServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

std::string taken_document(std::string_view lock, const std::string& fields) {
  return R"({"_id": ")" + std::string(lock) + R"(", "state": 1, "why": "x", "when": )" + kNowThere +
         R"(, "fence": {"$numberLong": "1"}, )" + fields + '}';
}

std::string identity_of(int number) {
  const std::string place = std::to_string(number);
  return taken_document(mirrored::kIdentityName,
                        R"("process": "mirrored store )" + kSetOfTwo + R"(", "who": "member )" +
                            place + R"( of 3", "ts": {"$oid": "6d7f0000000000000000aa0)" + place +
                            "\"}");
}

std::string batch_of(const std::string& documents) {
  return R"({"ok": 1, "cursor": {"id": 0, "ns": "config.locks", "firstBatch": [)" + documents +
         "]}}";
}

/// A server that answers as a member of a set without locks: it confirms each ping, and grants each
/// claim.
struct AnsweringMember {
  std::string to_write(const Bson& command) const {
    if (text_at(command, "findAndModify") == "lockpings")
      return R"({"ok": 1, "value": {"_id": "db7:1:1", "ping": )" + kNowThere +
             R"(, "clock": "mongod:)" + address + "\"}}";
    return R"({"ok": 1, "value": )" +
           taken_document("jobs",
                          R"("process": "db7:1:1", "who": "db7:1:1:main:2", "ts": {"$oid": ")" +
                              to_hex(kOurs) + "\"}") +
           '}';
  }
  Bson operator()(const Bson& command) const {
    const std::string name = name_of(command);
    if (name == "isMaster") return greeting();
    if (name == "findAndModify") return json(to_write(command));
    if (text_at(command, "pipeline.0.$match._id") == mirrored::kIdentityName)
      return json(batch_of(R"({"lock": )" + identity_of(number) + R"(, "ping": [], "now": )" +
                           kNowThere + '}'));
    const bool lists_locks = text_at(command, "find") == "locks";
    return json(batch_of(lists_locks ? identity_of(number) : ""));
  }

  int number = 0;
  std::string address;
};

/// A server that cannot serve: how it describes itself, and what is said of it.
struct Unfit {
  std::function<std::string(int port)> fields;
  std::string why;
};

std::function<std::string(int)> always_as(const std::string& fields) {
  return [fields](int) { return fields; };
}

// 7 is MongoDB 4.0. The driver refuses the two after it by itself.
std::vector<Unfit> unfit_servers() {
  const auto of_a_set = [](bool primary) {
    return [primary](int port) { return member_hello(primary, {port}); };
  };
  return {
      {always_as(with_versions(kOldVersions)), "older than MongoDB 4.2"},
      {always_as(with_versions(R"("minWireVersion": 0, "maxWireVersion": 5)")), "wire version"},
      {always_as(with_versions(R"("minWireVersion": 90, "maxWireVersion": 99)")), "wire version"},
      {of_a_set(true), "a member of a replica set"},
      {of_a_set(false), "a member of a replica set"},
      {always_as(standalone_hello() + R"(, "msg": "isdbgrid")"), "this is a mongos"}};
}

/// Two members of a set, and a third server.
struct TwoAndAnother {
  TwoAndAnother() {
    for (int number = 1; number <= 3; ++number) {
      servers.push_back(std::make_unique<MockServer>(greeting()));
      servers.back()->answer_with(AnsweringMember{number, address_of(*servers.back())});
    }
  }
  explicit TwoAndAnother(const Unfit& unfit) : TwoAndAnother() {
    third().hello_with(greeting(unfit.fields(third().port())));
  }

  MockServer& third() const { return *servers.back(); }
  // As servers that were never members of a set.
  void make_empty() const {
    for (const auto& server : servers)
      server->answer_with([](const Bson&) { return json(batch_of("")); });
  }
  ConnectionString connection() const {
    return ConnectionString("mirrored+mongodb://" + address_of(*servers[0]) + ',' +
                            address_of(*servers[1]) + ',' + address_of(third()) + "/");
  }

  std::vector<std::unique_ptr<MockServer>> servers;
};

// By the clock of the first member, which stands still.
Claim claim_after(const PingRecord& ping) {
  return our_claim_until({ping.ping + 1min, ping.clock.value_or("")});
}

}  // namespace

TEST_CASE("a member that cannot serve keeps no lock from being had on the others, and is named",
          "[mirrored][M2]") {
  const Unfit unfit = GENERATE(from_range(unfit_servers()));
  CAPTURE(unfit.why);
  const TwoAndAnother servers(unfit);
  const auto store = open_store(servers.connection(), {.call_limit = 20s});
  const PingRecord ping = store->ping("db7:1:1");
  const auto hold = store->claim("jobs", FromAbsent{}, claim_after(ping));
  REQUIRE(hold);
  CHECK(hold->members.size() == 2);
  const auto states = store->members()->states();
  CHECK(states[0].condition == MemberState::Condition::counts);
  CHECK(states[2].condition == MemberState::Condition::away);
  REQUIRE(states[2].failure);
  CHECK(states[2].failure->errc() == Errc::invalid_argument);
  CHECK_THAT(states[2].failure->what(),
             Catch::Contains(unfit.why) && Catch::Contains(address_of(servers.third())));
}

TEST_CASE("a member that cannot serve is an error where there is no set yet, by its name",
          "[mirrored][M6]") {
  const Unfit unfit = GENERATE(from_range(unfit_servers()));
  CAPTURE(unfit.why);
  const TwoAndAnother servers(unfit);
  servers.make_empty();
  std::string message;
  CHECK(failure_of([&] { open_store(servers.connection()); }, &message) == Errc::invalid_argument);
  CHECK_THAT(message,
             Catch::Contains(unfit.why) && Catch::Contains(std::to_string(servers.third().port())));
}

TEST_CASE("a majority of members of an old version is an error of the opening", "[mirrored][M2]") {
  const TwoAndAnother servers;
  for (const std::size_t old : {1, 2})
    servers.servers[old]->hello_with(greeting(with_versions(kOldVersions)));
  std::string message;
  CHECK(failure_of([&] { open_store(servers.connection()); }, &message) == Errc::invalid_argument);
  CHECK_THAT(message, Catch::Contains("older than MongoDB 4.2"));
}

// As after a downgrade. An old server knows no pipeline in an update.
TEST_CASE("a member that is restarted as an old version is away, with the reason",
          "[mirrored][mongo][M2][R4]") {
  const TwoAndAnother servers;
  const auto store = open_store(servers.connection(), {.call_limit = 20s});
  std::vector<MemberState> states = store->members()->states();
  REQUIRE(states[2].condition == MemberState::Condition::counts);
  servers.third().hello_with(greeting(with_versions(kOldVersions)));
  const auto is_away = [&] {
    states = store->members()->states();
    return states[2].condition == MemberState::Condition::away;
  };
  wait_until("the driver to know the member's version", is_away, 1min);
  CHECK(states[2].failure.value().errc() == Errc::not_applied);
  CHECK_THAT(states[2].failure->what(), Catch::Contains("is older than MongoDB 4.2 now"));
  servers.third().forget_commands();
  const PingRecord ping = store->ping("db7:1:1");
  const auto hold = store->claim("jobs", FromAbsent{}, claim_after(ping));
  REQUIRE(hold);
  CHECK(hold->members.size() == 2);
  CHECK(servers.third().commands().empty());
}
