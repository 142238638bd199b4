#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/members.h"
#include "stores/mirrored/mirrored_store.h"
#include "stores/mirrored/opening_member.h"
#include "support/captured_log.h"
#include "support/mirror_fleet.h"
#include "support/temporary_folder.h"
#include "support/thrown.h"

// Members that cannot be used: another try does not mend that. New processes go on without them
// where a majority of the others is a set.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
using mirrored::OpeningMember;
using Condition = MemberState::Condition;

namespace fs = std::filesystem;
namespace {

constexpr StoreOptions kToLook{.opening = OpeningRule::to_look};

/// A mirrored store of three files, of which the last one has a folder of its own.
class Files {
 public:
  Files() { fs::create_directory(in + "/own"); }

  std::shared_ptr<Store> open(const StoreOptions& options = {}) const {
    return open_store(ConnectionString(text), options);
  }
  /// Whether a process that opens it now gets the lock, which it frees.
  static bool can_lock(const std::shared_ptr<Store>& store) {
    const auto pinger =
        std::make_shared<DistributedLockPinger>(Environment{.store = store}, PingerOptions{});
    DistributedLock lock(pinger, "jobs");
    return lock.lock_try("x") && lock.unlock() == UnlockResult::released;
  }
  void found() const { REQUIRE(can_lock(open())); }
  void put_garbage(const std::string& file) const {
    std::ofstream(file, std::ios::trunc) << std::string(9000, 'x');
  }
  void put_fault(const std::string& fault) const {
    fs::remove_all(in + "/own");
    if (fault == "no folder") return;
    fs::create_directory(in + "/own");
    if (fault == "a folder") fs::create_directory(c);
    if (fault == "garbage") put_garbage(c);
    if (fault == "a copy") fs::copy_file(a, c);
  }

  TemporaryFolder folder;
  const std::string in = folder.path().string();
  const std::string a = in + "/a";
  const std::string b = in + "/b";
  const std::string c = in + "/own/c";
  const std::string text = "mirrored+sqlite:" + a + ',' + b + ',' + c;
};

struct Refusal {
  Errc errc{};
  std::string why;
};

template <class Callable>
Refusal refusal_of(const Callable& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.errc(), error.what()};
  }
  return {};
}

}  // namespace

TEST_CASE("a member that cannot be used keeps no new process from a set", "[mirrored][M2][M6]") {
  const std::string fault = GENERATE("no folder", "a folder", "garbage", "a copy");
  CAPTURE(fault);
  const Files files;
  files.found();
  files.put_fault(fault);
  Captured log;
  const auto store = files.open();
  CHECK(Files::can_lock(store));
  CHECK(Files::can_lock(store));
  const bool copy = fault == "a copy";
  CHECK(log.count(severity_level::warning, copy ? "or a copy of it" : "cannot be used") == 1);
  CHECK(log.count(severity_level::warning, "/own/c\"") == 1);
  const MemberState third = store->members()->states().at(2);
  CHECK(third.condition == (copy ? Condition::strange : Condition::away));
  CHECK(third.failure.has_value() != copy);
  if (copy) CHECK_THAT(third.problem, Catch::Contains("or a copy of it"));
}

TEST_CASE("a member that cannot be used is an error where there is no set yet",
          "[mirrored][M6][M7]") {
  const std::string fault = GENERATE("no folder", "a folder", "garbage");
  const Files files;
  files.put_fault(fault);
  Captured log;
  const Refusal refusal = refusal_of([&] { files.open(); });
  CHECK(refusal.errc == (fault == "garbage" ? Errc::bad_record : Errc::invalid_argument));
  CHECK_THAT(refusal.why, Catch::Contains("/own"));
  CHECK(log.count_all() == 0);
  for (const auto& file : {files.a, files.b}) {
    CHECK(open_store(ConnectionString("sqlite:" + file))->list().locks.empty());
  }
}

TEST_CASE("a majority that cannot be used is an error of the opening, with the first one's fault",
          "[mirrored][M2]") {
  const Files files;
  files.found();
  files.put_fault("garbage");
  fs::remove(files.b);
  fs::create_directory(files.b);
  CHECK(refusal_of([&] { files.open(); }).errc == Errc::invalid_argument);
  const auto look = files.open(kToLook);
  CHECK(refusal_of([&] { look->list(); }).errc == Errc::invalid_argument);
}

TEST_CASE("a member that cannot be used is tried again after a while, and told once",
          "[mirrored][M2]") {
  MirrorFleet fleet;
  std::optional<Error> failure = Error(Errc::permission_denied, "a wrong password");
  int tries = 0;
  const auto open = [&] {
    ++tries;
    if (failure) throw Error(*failure);
    return fleet.stores[2].store;
  };
  OpeningMember member(open, 1s, "third", fleet.clock);
  Captured log;
  const auto call = [&] { return thrown_by([&] { return member.list(); }); };
  CHECK(call() == Errc::permission_denied);
  CHECK(log.count_all() == 0);
  member.tell_faults();
  fleet.clock->advance(9s);
  CHECK(call() == Errc::permission_denied);
  CHECK(tries == 1);
  fleet.clock->advance(1s);
  CHECK(call() == Errc::permission_denied);
  CHECK(tries == 2);
  CHECK(log.count(severity_level::warning,
                  "member \"third\" of the mirrored store cannot be used"
                  " and counts for nobody; the others go on: a wrong "
                  "password; mend that") == 1);
  CHECK(log.count_all() == 1);
  failure.reset();
  fleet.clock->advance(10s);
  CHECK_FALSE(call());
}

TEST_CASE("a fault of one member does not end a wait for another that is away", "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[2]->during_each_call(
      [](const std::string&) { throw Error(Errc::permission_denied, "no right"); });
  CHECK_NOTHROW(ann.store->list());
  ann.set_away(1, true);
  CHECK(thrown_by([&] { ann.store->list(); }) == Errc::not_applied);
  const auto bob = fleet.process("bob");
  bob.members[2]->during_each_call(
      [](const std::string&) { throw Error(Errc::permission_denied, "no right"); });
  bob.set_away(1, true);
  CHECK(thrown_by([&] { bob.store->list(); }) == Errc::not_applied);
  bob.set_away(1, false);
  fleet.empty(1);
  CHECK(thrown_by([&] { bob.store->list(); }) == Errc::permission_denied);
}

TEST_CASE("a handle to look makes no set, and no file", "[mirrored][M6]") {
  const Files files;
  {
    const auto look = files.open(kToLook);
    const Refusal refusal = refusal_of([&] { look->list(); });
    CHECK(refusal.errc == Errc::not_applied);
    CHECK_THAT(refusal.why, Catch::Contains("there is no file"));
    for (const MemberState& member : look->members()->states()) {
      CHECK(member.condition == Condition::away);
    }
    CHECK_FALSE(fs::exists(files.a));
  }
  for (const auto& file : {files.a, files.b, files.c})
    open_store(ConnectionString("sqlite:" + file));
  const auto look = files.open(kToLook);
  const Refusal refusal = refusal_of([&] { look->list(); });
  CHECK(refusal.errc == Errc::not_applied);
  CHECK_THAT(refusal.why, Catch::Contains("are no set yet"));
  files.found();
  CHECK_NOTHROW(look->list());
  fs::remove(files.c);
  CHECK_NOTHROW(files.open(kToLook)->list());
  CHECK_FALSE(fs::exists(files.c));
}

TEST_CASE("a copy of a member beside a majority counts for nobody, and one store twice is refused",
          "[mirrored][M7]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  fleet.stores[2].tables.put_lock(
      *fleet.stores[0].tables.raw_lock(std::string(mirrored::kIdentityName)));
  std::vector<std::shared_ptr<Store>> members;
  for (const auto& opened : fleet.stores) members.push_back(opened.store);
  const MirrorOptions by_hand{MirrorDrive::caller, {}};
  const auto one = mirrored::open_set(members, fleet.clock, by_hand, mirrored::Twins::unknown);
  CHECK(thrown_by([&] { one->list(); }) == Errc::invalid_argument);
  const auto copies = mirrored::open_set(members, fleet.clock, by_hand, mirrored::Twins::copies);
  CHECK_NOTHROW(copies->list());
  CHECK(copies->members()->states().at(2).condition == Condition::strange);
  CHECK(copies->members()->states().at(0).condition == Condition::counts);
  fleet.empty(1);
  const auto too_few = mirrored::open_set(members, fleet.clock, by_hand, mirrored::Twins::copies);
  CHECK(thrown_by([&] { too_few->list(); }) == Errc::invalid_argument);
}

TEST_CASE("members that are named at each other's places are refused beside a majority",
          "[mirrored][M7]") {
  MirrorFleet fleet(5);
  fleet.process("ann").pinger->ping_round();
  std::vector<std::shared_ptr<Store>> members;
  for (const auto& opened : fleet.stores) members.push_back(opened.store);
  std::swap(members[3], members[4]);
  const auto away = std::make_shared<FaultyStore>(members[4]);
  members[4] = away;
  const auto turned = make_mirrored_store(members, fleet.clock, {MirrorDrive::caller, {}});
  const Refusal refusal = refusal_of([&] { turned->list(); });
  CHECK(refusal.errc == Errc::invalid_argument);
  CHECK_THAT(refusal.why, Catch::Contains("is member 5 of 5") && Catch::Contains("same order"));
  // One alone may be a store that was moved: it counts for nobody.
  away->during_each_call([](const std::string&) { throw Error(Errc::not_applied, "away"); });
  CHECK_NOTHROW(turned->list());
}

TEST_CASE("a founding that cannot be says which member is in the way", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const std::string second = fleet.stores[1].store->description();
  const auto why = [&] { return refusal_of([&] { ann.store->list(); }); };
  ann.set_away(1, true);
  CHECK(why().errc == Errc::not_applied);
  CHECK_THAT(why().why, Catch::Contains("the member is away") && Catch::Contains("is empty") &&
                            Catch::Contains("all of them must answer"));
  ann.set_away(1, false);
  fleet.put_taken(1);
  CHECK(why().errc == Errc::invalid_argument);
  CHECK_THAT(why().why, Catch::Contains(second + " has locks of its own"));
}

TEST_CASE("a store with locks is not called so where another founder's set may be there",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = bob.lock("jobs");
  ann.members[0]->before("list", [&] {
    REQUIRE(lock->lock_try("x"));
    ann.set_away(1, true);
    ann.set_away(2, true);
  });
  CHECK(thrown_by([&] { ann.store->list(); }) == Errc::not_applied);
}

TEST_CASE("an emptied majority is named, with what to do", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(0);
  fleet.empty(1);
  const auto bob = fleet.process("bob");
  const auto advises = Catch::Contains("if a majority was emptied: stop all processes");
  CHECK_THAT(refusal_of([&] { bob.store->list(); }).why, advises);
  CHECK_THAT(refusal_of([&] { bob.store->members()->readmit(0); }).why, advises);
}

TEST_CASE("a member that was opened and denies its calls is told of, once", "[mirrored][log][M2]") {
  MirrorFleet fleet;
  const auto store = std::make_shared<FaultyStore>(fleet.stores[2].store);
  OpeningMember member([&] { return store; }, 1s, "third", fleet.clock);
  member.tell_faults();
  store->during_each_call(
      [](const std::string&) { throw Error(Errc::permission_denied, "no right to write"); });
  Captured log;
  for (int i = 0; i < 2; ++i) {
    CHECK(thrown_by([&] { return member.ping("ann", {}); }) == Errc::permission_denied);
  }
  CHECK(log.count(severity_level::warning, "no right to write") == 1);
}
