#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <utility>

#include "distlock/stores.h"
#include "process/tool_process.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

/// A program that has loaded a module which holds "jobs" in some way, and has unloaded it again.
class Unloaded {
 public:
  explicit Unloaded(const std::string& way) {
    const std::string output = (folder_.path() / "output").string();
    const std::string command = "exec timeout -s KILL 60 " DISTLOCK_UNLOAD_PROGRAM
                                " " DISTLOCK_UNLOAD_MODULE " '" +
                                uri_ + "' " + way + " >'" + output + "' 2>&1";
    program_ = popen(command.c_str(), "w");
    wait_until("the module is unloaded", [&] {
      std::string word;
      return bool(std::ifstream(output) >> word) && word == "unloaded";
    });
    store_ = open_store(ConnectionString{uri_});
  }
  ~Unloaded() { end(); }
  Unloaded(const Unloaded&) = delete;
  Unloaded& operator=(const Unloaded&) = delete;

  bool holds() { return store_->list().locks.at(0).record->taken(); }
  std::size_t pings() { return store_->list().pings.size(); }

  void wait_for_a_ping() {
    const auto last = [&] { return store_->list().pings.at(0).record->ping; };
    wait_until("a ping", [&, before = last()] { return last() > before; });
  }

  int end() {
    FILE* program = std::exchange(program_, nullptr);
    return program == nullptr ? -1 : WEXITSTATUS(pclose(program));
  }

 private:
  static void wait_until(const std::string& what, const std::function<bool()>& condition) {
    const auto limit = host_clock()->steady_now() + 30s;
    while (!condition()) {
      if (host_clock()->steady_now() > limit) throw std::runtime_error("in vain: " + what);
      host_clock()->wait_until(host_clock()->steady_now() + 10ms, {});
    }
  }

  TemporaryFolder folder_;
  std::string uri_ = "sqlite:" + (folder_.path() / "locks.db").string();
  FILE* program_ = nullptr;
  std::shared_ptr<Store> store_;
};

}  // namespace

TEST_CASE("a pinger goes on after the module that made it was unloaded", "[process][exit][R12]") {
  Unloaded program("leak");
  program.wait_for_a_ping();
  CHECK(program.holds());
  CHECK(program.end() == 0);
}

TEST_CASE("a static lock is freed when its module is unloaded", "[process][exit]") {
  Unloaded program("static");
  CHECK_FALSE(program.holds());
  CHECK(program.pings() == 0);
  CHECK(program.end() == 0);
}
