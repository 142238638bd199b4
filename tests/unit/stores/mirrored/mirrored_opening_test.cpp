#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "stores/mirrored/opening_member.h"
#include "support/mirror_fleet.h"
#include "support/temporary_folder.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/three_members.h"

// Mirrored stores that a connection string names, and members that are away at the opening.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
using mirrored::OpeningMember;

namespace {

/// A member whose store is there once a test says so.
struct Absent {
  explicit Absent(MirrorFleet& of) : fleet(of) {}

  std::shared_ptr<Store> open() {
    ++tries;
    if (during) during();
    if (failure) throw Error(*failure);
    return fleet.stores[2].store;
  }

  MirrorFleet& fleet;
  std::optional<Error> failure = Error(Errc::not_applied, "it is away");
  std::function<void()> during;
  int tries = 0;
  std::shared_ptr<OpeningMember> member =
      std::make_shared<OpeningMember>([this] { return open(); }, 1s, "third", fleet.clock);
};

struct OpeningRefusal {
  Errc errc{};
  std::string why;
};

OpeningRefusal refusal_at_opening(const std::string& connection, const StoreOptions& options = {}) {
  try {
    static_cast<void>(open_store(ConnectionString(connection), options));
  } catch (const Error& error) {
    return {error.errc(), error.what()};
  }
  return {};
}

void check_cannot_be_used(const std::string& connection, const std::string& part) {
  const OpeningRefusal refusal = refusal_at_opening(connection);
  CHECK(refusal.errc == Errc::invalid_argument);
  CHECK_THAT(refusal.why, Catch::Contains(part));
}

}  // namespace

TEST_CASE("a member that is away is tried again by later calls, and not by each",
          "[mirrored][M2]") {
  MirrorFleet fleet;
  Absent third(fleet);
  const auto call = [&] { return thrown_by([&] { return third.member->list(); }); };
  CHECK(call() == Errc::not_applied);
  CHECK(call() == Errc::not_applied);
  CHECK(third.tries == 1);
  fleet.clock->advance(1s);
  CHECK(call() == Errc::not_applied);
  CHECK(third.tries == 2);
  third.failure.reset();
  fleet.clock->advance(1s);
  CHECK_FALSE(call());
  CHECK_FALSE(call());
  CHECK(third.tries == 3);
}

TEST_CASE("a try that took long is followed by a pause as any other", "[mirrored][M2]") {
  MirrorFleet fleet;
  Absent third(fleet);
  third.during = [&] { fleet.clock->advance(10s); };
  const auto call = [&] { return thrown_by([&] { return third.member->list(); }); };
  CHECK(call() == Errc::not_applied);
  CHECK(call() == Errc::not_applied);
  CHECK(third.tries == 1);
  fleet.clock->advance(1s);
  CHECK(call() == Errc::not_applied);
  CHECK(third.tries == 2);
}

TEST_CASE("a call during the opening of a member fails at once", "[mirrored][M2]") {
  MirrorFleet fleet;
  Absent third(fleet);
  third.failure.reset();
  std::optional<Errc> meanwhile;
  third.during = [&] { meanwhile = thrown_by([&] { return third.member->list(); }); };
  CHECK_FALSE(thrown_by([&] { return third.member->list(); }));
  CHECK(meanwhile == Errc::not_applied);
  CHECK(third.tries == 1);
}

// Only ThreadSanitizer sees each of the mutexes that this test and the next one are about.
TEST_CASE("of two threads that call at once one opens the member", "[mirrored][M2][threads]") {
  MirrorFleet fleet;
  Absent third(fleet);
  third.failure.reset();
  Gate gate;
  third.during = [&] {
    if (third.tries > 1) gate.open();
    gate.pass();
  };
  std::atomic<int> refused = 0;
  // The one that does not open it lets the other go on.
  const auto call = [&] {
    const auto outcome = thrown_by([&] { return third.member->list(); });
    if (outcome == Errc::not_applied) ++refused;
    gate.open();
  };
  boost::thread other(call);
  call();
  other.join();
  CHECK(refused == 1);
  CHECK(third.tries == 1);
  CHECK_NOTHROW(third.member->list());
}

TEST_CASE("threads that call while a member's file is replaced get its answers or not_applied",
          "[mirrored][M2][M6][threads]") {
  MirrorFleet fleet;
  const auto another_file_soon = [&] {
    const auto file = std::make_shared<FaultyStore>(fleet.stores[2].store);
    file->during_each_call([looks = std::make_shared<std::atomic<int>>(0)](const std::string&) {
      if (++*looks > 3) throw Error(Errc::store_replaced, "another file is there");
    });
    return file;
  };
  OpeningMember member(another_file_soon, 1s, "third", fleet.clock);
  std::atomic<int> answers = 0;
  std::atomic<int> others = 0;
  const auto calls = [&] {
    for (int i = 0; i < 500; ++i) {
      const auto outcome = thrown_by([&] { return member.list(); });
      answers += outcome ? 0 : 1;
      others += outcome && outcome != Errc::not_applied ? 1 : 0;
      fleet.clock->advance(1s);
    }
  };
  boost::thread other(calls);
  calls();
  other.join();
  CHECK(answers > 3);
  CHECK(others == 0);
}

TEST_CASE("an opening that ends in another exception is tried again", "[mirrored][M2]") {
  MirrorFleet fleet;
  Absent third(fleet);
  third.failure.reset();
  third.during = [] { throw std::bad_alloc(); };
  CHECK_THROWS_AS(third.member->list(), std::bad_alloc);
  third.during = {};
  CHECK_NOTHROW(third.member->list());
}

TEST_CASE("a member that was away at the opening takes part once it is there", "[mirrored][M2]") {
  MirrorFleet fleet;
  fleet.process("founder").pinger->ping_round();
  Absent third(fleet);
  const auto store =
      make_mirrored_store({fleet.stores[0].store, fleet.stores[1].store, third.member}, fleet.clock,
                          {MirrorDrive::caller, {}});
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store, .clock = fleet.clock, .process = "ann"}, PingerOptions{},
      PingerDrive::caller);
  DistributedLock lock(pinger, "jobs");
  REQUIRE(lock.lock_try("x"));
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", ""});
  REQUIRE(lock.unlock() == UnlockResult::released);
  third.failure.reset();
  fleet.clock->advance(1s);
  pinger->ping_round();
  DistributedLock next(pinger, "rotate");
  REQUIRE(next.lock_try("x"));
  CHECK(fleet.holders("rotate") == std::vector<std::string>(3, "ann"));
}

TEST_CASE("a mirrored store whose members cannot serve is refused at its opening",
          "[mirrored][M7]") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const std::string files = "mirrored+sqlite:" + path + "/a," + path + "/b,";
  check_cannot_be_used(files + path, "is a folder");
  check_cannot_be_used(files + path + "/none/c", "there is no folder");
  std::filesystem::create_symlink(path + "/a", path + "/link");
  check_cannot_be_used(files + path + "/link", "the file of two members");
}

TEST_CASE("a mirrored store whose members are all away says why, without their password",
          "[mirrored][M2]") {
  // Nobody listens on port 1.
  const OpeningRefusal refusal = refusal_at_opening(
      "mirrored+mongodb://u:geheim@127.0.0.1:1,127.0.0.2:1,127.0.0.3:1/", {.call_limit = 400ms});
  CHECK(refusal.errc == Errc::not_applied);
  CHECK_THAT(refusal.why, Catch::Contains("too few of its members can be reached") &&
                              Catch::Contains("127.0.0.2:1") && !Catch::Contains("geheim"));
}

TEST_CASE("a member whose file was replaced is away for a while, and opened anew then",
          "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  const auto first = std::make_shared<FaultyStore>(fleet.stores[0].store);
  std::vector<std::shared_ptr<Store>> files{first, fleet.stores[1].store};
  std::size_t opened = 0;
  OpeningMember member([&] { return files.at(opened++); }, 1s, "third", fleet.clock);
  CHECK_NOTHROW(member.list());
  first->during_each_call(
      [](const std::string&) { throw Error(Errc::store_replaced, "another file is there"); });
  for (int i = 0; i < 5; ++i) {
    CHECK(thrown_by([&] { member.list(); }) == Errc::not_applied);
    fleet.clock->advance(1s);
    CHECK(opened == 1);
  }
  CHECK_NOTHROW(member.list());
  CHECK(opened == 2);
}

TEST_CASE("a late call of a file that was replaced leaves the new one open", "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  const auto first = std::make_shared<FaultyStore>(fleet.stores[0].store);
  std::vector<std::shared_ptr<Store>> files{first, fleet.stores[1].store};
  std::size_t opened = 0;
  OpeningMember member([&] { return files.at(opened++); }, 1s, "third", fleet.clock);
  const auto replaced = [] { throw Error(Errc::store_replaced, "another file is there"); };
  // While this call is on its way, another finds the new file.
  first->before("list", [&] {
    first->before("holds", replaced);
    CHECK(thrown_by([&] { member.holds("a"); }) == Errc::not_applied);
    fleet.clock->advance(1min);
    CHECK_NOTHROW(member.holds("a"));
    replaced();
  });
  CHECK(thrown_by([&] { member.list(); }) == Errc::not_applied);
  CHECK_NOTHROW(member.list());
  CHECK(opened == 2);
}

TEST_CASE("two members that a link makes one file are refused before there is a file",
          "[mirrored][M7]") {
  const TemporaryFolder folder;
  const std::string in = folder.path().string();
  std::filesystem::create_directory(in + "/real");
  std::filesystem::create_directory_symlink(in + "/real", in + "/link");
  check_cannot_be_used("mirrored+sqlite:" + in + "/real/a," + in + "/link/a," + in + "/c",
                       "the file of two members");
  CHECK(std::filesystem::is_empty(in + "/real"));
  CHECK_FALSE(std::filesystem::exists(in + "/c"));
}

TEST_CASE("a thread that is interrupted as it opens a mirrored store opens it all the same",
          "[mirrored][M2][threads]") {
  const TemporaryFolder folder;
  const std::string in = folder.path().string();
  const ConnectionString connection("mirrored+sqlite:" + in + "/a," + in + "/b," + in + "/c");
  std::atomic<bool> interrupted = false;
  std::shared_ptr<Store> store;
  boost::thread opening([&] {
    while (!interrupted) std::this_thread::yield();
    store = open_store(connection);
  });
  opening.interrupt();
  interrupted = true;
  opening.join();
  REQUIRE(store);
  CHECK_NOTHROW(store->list());
}

TEST_CASE("a member that was opened keeps how many pings were good and failed", "[mirrored][R12]") {
  MirrorFleet fleet;
  Absent third(fleet);
  third.failure.reset();
  const PingHealth health{.successes = 7, .failures = 2, .round_trip = 3ms, .late_by = 15s};
  CHECK(third.member->ping("ann", health).health == health);
}
