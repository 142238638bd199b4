#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "sqlite/file_under_fault.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// As another program that writes, for as long as it likes.
struct Writer {
  explicit Writer(const ToolFixture& fixture) : file(fixture.file().string()) {
    file.execute("BEGIN IMMEDIATE; UPDATE locks SET why = 'not to be seen'");
  }
  void end() { file.execute("ROLLBACK"); }

  SqliteFile file;
};

/// Processes that claim and free a lock each of its own, again and again, until they are killed.
class BusyWriters {
 public:
  BusyWriters(const std::filesystem::path& file, int count) {
    for (int i = 0; i < count; ++i) start(file, "lock" + std::to_string(i));
  }
  ~BusyWriters() {
    for (const pid_t id : ids_) kill(id, SIGKILL);
    for (const pid_t id : ids_) waitpid(id, nullptr, 0);
  }
  BusyWriters(const BusyWriters&) = delete;
  BusyWriters& operator=(const BusyWriters&) = delete;

 private:
  void start(const std::filesystem::path& file, const std::string& name) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t id = fork();
    if (id == 0) write_for_ever(file, name, ends[1]);
    ids_.push_back(id);
    close(ends[1]);
    // It is at it once it has claimed.
    char claimed = 0;
    CHECK(read(ends[0], &claimed, 1) == 1);
    close(ends[0]);
  }
  // Nothing may get out of here: this process would go on with the other tests.
  [[noreturn]] static void write_for_ever(const std::filesystem::path& file,
                                          const std::string& name, int told) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      const auto store = open_at(file);
      LockRecord lock = held(*store, name);
      if (write(told, "x", 1) != 1) _exit(2);
      while (true) {
        store->release(name, *lock.ts);
        lock = claimed(*store, name, FromFree{lock.ts}, claim_by(*store, name));
      }
    } catch (...) {
      _exit(1);
    }
  }

  std::vector<pid_t> ids_;
};

}  // namespace

TEST_CASE("a writer that goes on for longer than a call may take is 69, and nothing happens",
          "[sqlite][process]") {
  ToolFixture fixture;
  REQUIRE(fixture.status({"run", "jobs", "--", "true"}) == 0);
  Writer writer(fixture);
  // A call may take an eighth of this.
  CHECK(fixture.status({"run", "-n", "--takeover-after", "4s", "jobs", "--", "echo", "ran"}) == 69);
  CHECK(fixture.output.empty());
  CHECK_THAT(fixture.messages,
             Catch::Contains("locks.db") && Catch::Contains("writing all the time"));
  CHECK(fixture.status({"list", "--names"}) == 0);
  CHECK(fixture.output == "jobs\n");
  writer.end();
  CHECK(fixture.status({"run", "jobs", "--", "sh", "-c", "echo $DISTLOCK_FENCE"}) == 0);
  CHECK(fixture.output == "2\n");
}

TEST_CASE("a writer that ends within a call's limit is waited for", "[sqlite][process]") {
  ToolFixture fixture;
  REQUIRE(fixture.status({"run", "jobs", "--", "true"}) == 0);
  Writer writer(fixture);
  const auto tool = fixture.start({"run", "--takeover-after", "10m", "jobs", "--", "echo", "ran"});
  // It is at it once it has its connection: the log's shared memory is mapped.
  const auto limit = host_clock()->steady_now() + 60s;
  while (!tool->maps(fixture.file().string() + "-shm")) {
    REQUIRE(host_clock()->steady_now() < limit);
    host_clock()->wait_until(host_clock()->steady_now() + 10ms, {});
  }
  writer.end();
  CHECK(tool->next_output() == "ran");
  CHECK(tool->wait() == 0);
}

TEST_CASE("a writer that does not end costs a holder its command, and then a rival comes",
          "[sqlite][process][unsanitized][R9]") {
  ToolFixture fixture;
  const auto holder = fixture.hold({"--takeover-after", "8s"});
  Writer writer(fixture);
  CHECK(holder->wait() == 75);
  CHECK(holder->rest_of_output().empty());
  writer.end();
  CHECK(fixture.status({"run", "-w", "100s", "--takeover-after", "8s", "jobs", "--", "sh", "-c",
                        "echo $DISTLOCK_FENCE"}) == 0);
  CHECK(fixture.output == "2\n");
}

TEST_CASE("short writes of twelve processes keep no ping and no claim from its turn",
          "[sqlite][R12]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto store = open_at(file, {.call_limit = 1min});
  held(*store, "mine");
  const BusyWriters others(file, 12);
  for (int i = 0; i < 100; ++i) {
    CHECK_NOTHROW(store->ping("holder"));
    const std::string name = "own" + std::to_string(i);
    const auto error = error_of([&] { held(*store, name); });
    REQUIRE_FALSE(error);
  }
}
