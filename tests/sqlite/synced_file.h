#pragma once

#include <atomic>
#include <boost/thread/thread.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"

namespace distlock::testing {

/// A SQLite file whose writes wait for the disk.
struct SyncedFile {
  std::chrono::milliseconds call_limit = std::chrono::minutes{1};
  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "locks.db";
  std::shared_ptr<Store> store = open_at(path, {.call_limit = call_limit});
  // Of another process, as it were: it sees what was committed.
  std::shared_ptr<Store> others = open_at(path);

  bool shows(const std::string& name) const {
    const auto lock = others->inspect(name, Freshness::fresh).lock;
    return lock && lock->taken();
  }
  bool comes_to_show(const std::string& name) const {
    return comes([&] { return shows(name); });
  }
};

/// A call on a thread of its own.
class CallingThread {
 public:
  explicit CallingThread(std::function<void()> call)
      : thread_([this, call = std::move(call)] {
          error_ = error_of(call);
          returned_ = true;
        }) {}
  ~CallingThread() {
    HeldSyncs::let_all_go();
    thread_.join();
  }
  CallingThread(const CallingThread&) = delete;
  CallingThread& operator=(const CallingThread&) = delete;

  bool has_returned() const { return returned_; }
  /// Waits for its return; gives the error, if it was one.
  std::optional<Error> error() {
    REQUIRE(comes([this] { return returned_.load(); }));
    return error_;
  }

 private:
  std::optional<Error> error_;
  std::atomic<bool> returned_ = false;
  boost::thread thread_;
};

}  // namespace distlock::testing
