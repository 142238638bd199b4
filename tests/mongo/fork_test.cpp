#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <set>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "mongo/attempts.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_documents.h"
#include "support/forked_child.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

std::vector<int> open_sockets() {
  std::vector<int> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    struct stat what {};
    if (fstat(descriptor, &what) == 0 && S_ISSOCK(what.st_mode)) sockets.push_back(descriptor);
  }
  return sockets;
}

/// In a child: puts one end of a socket pair where each inherited socket is, and shows at the other
/// what is done with it.
class Decoys {
 public:
  Decoys() {
    for (const int inherited : open_sockets()) {
      std::array<int, 2> ends{};
      socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
      dup2(ends[0], inherited);
      close(ends[0]);
      watched_.push_back(ends[1]);
    }
  }

  bool none() const { return watched_.empty(); }
  /// Neither a byte written nor a socket closed.
  bool untouched() const {
    return std::all_of(watched_.begin(), watched_.end(), [](int end) {
      char byte = 0;
      return recv(end, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    });
  }

 private:
  std::vector<int> watched_;
};

/// A process that holds "jobs" on a server, by connections that the server knows by a name.
struct Parent {
  std::set<std::int64_t> connections() const {
    const Bson reply = Server(standalone_uri(), "admin")
                           .run(json(R"({"aggregate": 1, "cursor": {},
        "pipeline": [{"$currentOp": {"allUsers": true, "idleConnections": true}},
                     {"$match": {"appName": ")" +
                                     server.database() + R"("}}]})"));
    std::set<std::int64_t> ids;
    for (int i = 0;; ++i) {
      const std::string path = "cursor.firstBatch." + std::to_string(i) + ".connectionId";
      const auto id = find(reply.get(), path.c_str());
      if (!id) return ids;
      ids.insert(bson_iter_as_int64(&*id));
    }
  }
  std::int64_t pings() const { return pinger->stats().health.successes; }

  Server server{standalone_uri()};
  std::shared_ptr<Store> store =
      open_store(server.connection("appName=" + server.database()), {.call_limit = 10s});
  std::shared_ptr<DistributedLockPinger> pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store}, PingerOptions{.ping_every = 50ms});
  std::unique_ptr<DistributedLock> lock =
      std::make_unique<DistributedLock>(pinger, "jobs", LockOptions{.takeover_after = 60s});
  /// That nothing else refers to.
  std::shared_ptr<Store> reader = open_store(server.connection("appName=" + server.database()));
};

/// Uses and destroys the parent's handles in a child. 0 if all is well.
int use_and_destroy(Parent& parent) {
  const auto forked = [](const std::function<void()>& call) {
    return failure_of(call) == Errc::forked;
  };
  const Decoys sockets;
  if (sockets.none()) return 1;
  if (parent.lock->held()) return 2;
  if (parent.lock->unlock() != UnlockResult::not_ours) return 3;
  if (!forked([&] { (void)parent.lock->lock_try("y"); })) return 4;
  if (!forked([&] { (void)parent.lock->still_held(); })) return 5;
  if (!forked([&] { (void)parent.store->ping("somebody"); })) return 6;
  if (!forked([&] { (void)parent.store->list(); })) return 7;
  if (parent.pinger->ping_round() != SteadyTime::max()) return 8;
  parent.lock.reset();
  parent.pinger.reset();
  parent.store.reset();
  parent.reader.reset();
  return sockets.untouched() ? 0 : 9;
}

/// Uses a store that the child itself opens on the same server. 0 if all is well.
int begin_anew(const Parent& parent) {
  const auto store = open_store(parent.server.connection(), {.call_limit = 10s});
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  DistributedLock jobs(pinger, "jobs");
  DistributedLock others(pinger, "others");
  if (jobs.lock_try("y")) return 1;
  if (!others.lock_try("y")) return 2;
  return others.unlock() == UnlockResult::released ? 0 : 3;
}

}  // namespace

TEST_CASE("in a forked child a MongoDB store's sockets are not touched", "[mongo][R16]") {
  Parent parent;
  REQUIRE(parent.lock->lock_try("x"));
  REQUIRE(parent.reader->list().locks.size() == 1);
  const auto connected = parent.connections();
  REQUIRE_FALSE(connected.empty());

  const std::int64_t pinged = parent.pings();
  CHECK(answer_of_child([&] { return use_and_destroy(parent); }) == 0);
  wait_until("more pings", [&] { return parent.pings() > pinged + 3; });
  CHECK(parent.lock->still_held());
  CHECK(parent.pinger->stats().health.failures == 0);
  const auto still_connected = parent.connections();
  CHECK(std::includes(still_connected.begin(), still_connected.end(), connected.begin(),
                      connected.end()));
  CHECK(parent.reader->list().locks.size() == 1);
  CHECK(parent.lock->unlock() == UnlockResult::released);
}

TEST_CASE("a forked child opens a MongoDB store of its own", "[mongo][R16]") {
  Parent parent;
  REQUIRE(parent.lock->lock_try("x"));
  CHECK(answer_of_child([&] { return begin_anew(parent); }) == 0);
  CHECK(parent.lock->still_held());
  CHECK(parent.pinger->stats().health.failures == 0);
}
