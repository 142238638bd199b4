#include "sqlite/file_under_fault.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// As another program that writes, for as long as it likes.
struct Writer {
  explicit Writer(const Desk& desk) : file(desk.file().string()) {
    file.execute("BEGIN IMMEDIATE; UPDATE locks SET why = 'not to be seen'");
  }
  void end() { file.execute("ROLLBACK"); }

  SqliteFile file;
};

}  // namespace

TEST_CASE("a writer that goes on for longer than a call may take is 69, and nothing happens",
          "[sqlite][process]") {
  Desk desk;
  REQUIRE(desk.status({"run", "jobs", "--", "true"}) == 0);
  Writer writer(desk);
  // A call may take an eighth of this.
  CHECK(desk.status({"run", "-n", "--takeover-after", "4s", "jobs", "--", "echo", "ran"}) == 69);
  CHECK(desk.output.empty());
  CHECK_THAT(desk.messages, Catch::Contains("locks.db") && Catch::Contains("writing all the time"));
  CHECK(desk.status({"list", "--names"}) == 0);
  CHECK(desk.output == "jobs\n");
  writer.end();
  CHECK(desk.status({"run", "jobs", "--", "sh", "-c", "echo $DISTLOCK_FENCE"}) == 0);
  CHECK(desk.output == "2\n");
}

TEST_CASE("a writer that ends within a call's limit is waited for", "[sqlite][process]") {
  Desk desk;
  REQUIRE(desk.status({"run", "jobs", "--", "true"}) == 0);
  Writer writer(desk);
  const auto tool = desk.start({"run", "--takeover-after", "10m", "jobs", "--", "echo", "ran"});
  // It is at it once it has its connection: the log's shared memory is mapped.
  const auto limit = host_clock()->steady_now() + 60s;
  while (!tool->maps(desk.file().string() + "-shm")) {
    REQUIRE(host_clock()->steady_now() < limit);
    host_clock()->wait_until(host_clock()->steady_now() + 10ms, {});
  }
  writer.end();
  CHECK(tool->next_output() == "ran");
  CHECK(tool->wait() == 0);
}

TEST_CASE("a writer that does not end costs a holder its command, and then a rival comes",
          "[sqlite][process][unsanitized][R9]") {
  Desk desk;
  const auto holder = desk.hold({"--takeover-after", "8s"});
  Writer writer(desk);
  CHECK(holder->wait() == 75);
  CHECK(holder->rest_of_output().empty());
  writer.end();
  CHECK(desk.status({"run", "-w", "100s", "--takeover-after", "8s", "jobs", "--", "sh", "-c",
                     "echo $DISTLOCK_FENCE"}) == 0);
  CHECK(desk.output == "2\n");
}
