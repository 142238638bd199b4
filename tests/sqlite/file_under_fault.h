#pragma once

#include <sys/mount.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>

#include "contract/contract.h"
#include "distlock/clock.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "process/tool_fixture.h"
#include "support/temporary_folder.h"

// Shared by the tests of a SQLite file in trouble. Each looks at it twice: through the library, in
// this process, and through the tool, for its exit status and its message.
namespace distlock::testing {

/// A mount in the test's own folder, which takes root; without, the test is counted as skipped.
class Mount {
 public:
  Mount(const std::string& kind, const std::filesystem::path& from, std::filesystem::path to,
        unsigned long flags = 0, const char* options = nullptr)
      : to_(std::move(to)) {
    made_ = mount(from.c_str(), to_.c_str(), kind.c_str(), flags, options) == 0;
    if (!made_) std::cout << "SKIPPED: this user makes no mounts" << std::endl;
  }
  ~Mount() {
    if (made_) umount2(to_.c_str(), MNT_DETACH);
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  bool made() const { return made_; }

 private:
  std::filesystem::path to_;
  bool made_ = false;
};

inline std::shared_ptr<Store> open_at(const std::filesystem::path& path,
                                      const StoreOptions& options = {}) {
  return open_store(ConnectionString("sqlite:" + path.string()), options);
}

/// The file locks.db of that folder, with the connection string's `options`.
inline std::shared_ptr<Store> open_with(const TemporaryFolder& folder, const std::string& options) {
  return open_store(ConnectionString("sqlite:" + (folder.path() / "locks.db").string() + options));
}

/// Whether it becomes true within a minute.
inline bool comes(const std::function<bool()>& condition) {
  const auto clock = host_clock();
  const auto limit = clock->steady_now() + std::chrono::minutes{1};
  while (!condition() && clock->steady_now() < limit) {
    clock->wait_until(clock->steady_now() + std::chrono::milliseconds{1}, {});
  }
  return condition();
}

/// The error that `attempt` throws; nothing if it throws none.
template <class Attempt>
std::optional<Error> error_of(const Attempt& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// The answer to opening a file, to a program and to the tool.
struct Opened {
  std::optional<Errc> code;
  std::string what;
  int status;
  std::string messages;
};

inline Opened opened(const std::filesystem::path& path, const std::string& lock = "jobs") {
  const auto error = error_of([&] { open_at(path); });
  ToolFixture fixture;
  const int status =
      fixture.status({"run", "-n", "--uri", "sqlite:" + path.string(), lock, "--", "true"});
  return {error ? std::optional(error->errc()) : std::nullopt, error ? error->what() : "", status,
          fixture.messages};
}

/// Refused, by name, as something that cannot be used.
inline void check_unusable(const std::filesystem::path& path, const std::string& why) {
  const Opened open = opened(path);
  CHECK(open.code == Errc::invalid_argument);
  CHECK_THAT(open.what, Catch::Contains(path.string()) && Catch::Contains(why));
  CHECK(open.status == 64);
  CHECK_THAT(open.messages, Catch::Contains(why));
}

}  // namespace distlock::testing
