#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <future>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "mongo/attempts.h"
#include "security/secured.h"
#include "stores/mongodb/mongo_documents.h"

using namespace distlock;
using namespace distlock::testing;
using Catch::Contains;
using namespace std::chrono_literals;

namespace {

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 4096> part{};
  for (std::size_t got = 0; (got = fread(part.data(), 1, part.size(), pipe)) > 0;)
    output.append(part.data(), got);
  CHECK(pclose(pipe) == 0);
  return output;
}

std::string role_tool(const std::string& options) { return "'" DISTLOCK_TOOL "' role " + options; }

/// A user with the role that `distlock role` makes, or with some of it.
struct Confined {
  explicit Confined(const std::string& options = "") {
    const std::string& database = secured.server().database();
    command =
        output_of(role_tool("--name " + database + " --database " + database + " " + options));
    secured.server().admin(json(command));
    secured.server().admin(json(R"({"createUser": ")" + database +
                                R"(", "pwd": "word", "roles": [")" + database + R"("]})"));
    store = open_store(ConnectionString(uri()));
  }
  ~Confined() {
    const std::string& database = secured.server().database();
    secured.server().admin(json(R"({"dropUser": ")" + database + R"("})"));
    secured.server().admin(json(R"({"dropRole": ")" + database + R"("})"));
  }

  std::string uri() const { return secured.uri_as(secured.server().database(), "word"); }

  /// Takes one action on one collection out of the role.
  void deny(const std::string& action, std::size_t collection) const {
    std::string less = command;
    less.replace(less.find("createRole"), 10, "updateRole");
    const std::string quoted = '"' + action + '"';
    std::size_t at = 0;
    for (std::size_t i = 0; i <= collection; ++i) at = less.find("\"actions\"", at + 1);
    at = less.find(quoted, at);
    REQUIRE(at != less.npos);
    // In its place one that nothing needs; a role wants at least one.
    secured.server().admin(json(less.replace(at, quoted.size(), "\"collStats\"")));
  }

  Secured secured;
  std::string command;
  std::shared_ptr<Store> store;
};

/// The messages of all calls of a store that are refused.
std::vector<std::string> refusals(Store& store) {
  std::vector<std::string> messages;
  const auto attempt = [&](const std::function<void()>& call) {
    std::string message;
    const auto errc = failure_of(call, &message);
    if (!errc) return;
    CHECK(errc == Errc::permission_denied);
    messages.push_back(message);
  };
  attempt([&] { store.ping("db7:1:1"); });
  attempt([&] { store.claim("jobs", FromAbsent{}, our_claim(store)); });
  attempt([&] { store.inspect("jobs", Freshness::fresh); });
  attempt([&] { store.list(); });
  attempt([&] { store.holds("db7:1:1"); });
  attempt([&] { store.release("jobs", kOurs); });
  attempt([&] { store.forget_pings(96h); });
  attempt([&] { store.remove_ping("db7:1:1"); });
  return messages;
}

}  // namespace

TEST_CASE("with the role of distlock role everything works, and nothing else", "[security]") {
  const Confined user;
  CHECK(refusals(*user.store).empty());
  const Said run = say({"run", "jobs", "--", "true"}, {{"DISTLOCK_URI", user.uri()}});
  INFO(run.messages);
  CHECK(run.status == 0);
  CHECK(run.messages.empty());
  CHECK(user.store->claim("held", FromAbsent{}, our_claim(*user.store)));
  CHECK(say({"break", "-y", "held"}, {{"DISTLOCK_URI", user.uri()}}).status == 0);
  const Server itself(user.uri(), user.secured.server().database());
  CHECK_THROWS(itself.put("others", json(R"({"_id": 1})")));
  CHECK_THROWS(itself.run(json(R"({"drop": "locks"})")));
}

TEST_CASE("a role without a name, or without a database and so for all, is refused", "[security]") {
  for (const std::string option : {"--database", "--name"}) {
    const std::string said = output_of(role_tool(option + " '' 2>&1; echo $?"));
    CHECK(said == "distlock: " + option +
                      " must not be empty; see distlock --help, or --help behind a command\n64\n");
  }
}

TEST_CASE("without any one privilege of the role, the error names it", "[security]") {
  const Confined user;
  const std::vector<std::string> collections{"locks", "lockpings"};
  for (std::size_t i = 0; i < collections.size(); ++i) {
    for (const std::string action : {"find", "insert", "update", "remove"}) {
      if (collections[i] == "locks" && action == "remove") continue;
      user.secured.server().run(json(R"({"delete": "locks", "deletes": [{"q": {}, "limit": 0}]})"));
      user.deny(action, i);
      const auto messages = refusals(*user.store);
      const std::string missing = "lacks the privilege " + action + " on \"" +
                                  user.secured.server().database() + "." + collections[i] + '"';
      INFO(missing);
      CHECK_FALSE(messages.empty());
      for (const std::string& message : messages) CHECK_THAT(message, Contains(missing));
    }
  }
}

TEST_CASE("without the right to make indexes everything works", "[security]") {
  const Confined user;
  for (const std::size_t collection : {0, 1}) {
    user.deny("createIndex", collection);
    CHECK(refusals(*user.store).empty());
  }
}

TEST_CASE("without the right to ring, or to hear, a waiter looks and gets the lock",
          "[security][R15][R19]") {
  const Confined user;
  constexpr std::size_t kBell = 2;
  for (const std::string action : {"insert", "find", "createCollection", "convertToCapped"}) {
    INFO(action);
    user.deny(action, kBell);
    LockOptions options;
    options.recheck = 100ms;
    DistributedLock holder(ConnectionString(user.uri()), "jobs", options);
    REQUIRE(holder.lock_try("x"));
    DistributedLock waiter(std::make_shared<DistributedLockPinger>(
                               Environment{.store = open_store(ConnectionString(user.uri()))}),
                           "jobs", options);
    auto got = std::async(std::launch::async, [&] { return waiter.try_lock_for(60s); });
    wait_until("it stands in line",
               [&] { return !user.store->inspect("jobs", Freshness::fresh).lock->line.empty(); });
    CHECK(holder.unlock() == UnlockResult::released);
    CHECK(got.get());
    CHECK(waiter.unlock() == UnlockResult::released);
  }
}

TEST_CASE("a role that only reads is enough to look", "[security]") {
  const Confined user("--read-only");
  CHECK_FALSE(failure_of([&] { user.store->list(); }));
  CHECK_FALSE(failure_of([&] { user.store->inspect("jobs", Freshness::fresh); }));
  CHECK(failure_of([&] { user.store->ping("db7"); }) == Errc::permission_denied);
}

TEST_CASE("without a user the error says that the server wants one", "[security]") {
  const Secured secured;
  const auto store = open_store(ConnectionString(secured.uri_by("")));
  std::string message;
  CHECK(failure_of([&] { store->list(); }, &message) == Errc::permission_denied);
  CHECK_THAT(message, Contains("the connection string names none"));
}
