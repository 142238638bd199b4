// `distlock run` with a store that is away when it starts, or gone while it waits.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace {

// Port 1 of the loopback: nobody listens.
constexpr const char* kAway = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100";

/// Takes connections on a port of the loopback, and never answers.
class SilentServer {
 public:
  SilentServer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, plain, size) != 0 || listen(listener_, SOMAXCONN) != 0 ||
        getsockname(listener_, plain, &size) != 0) {
      throw std::runtime_error("there is no port for a server");
    }
    uri_ = "mongodb://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  }
  ~SilentServer() { close(listener_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  const std::string& uri() const { return uri_; }
  void await_client() const {
    constexpr int kMostMs = 5 * 60 * 1000;
    pollfd waited{.fd = listener_, .events = POLLIN, .revents = 0};
    REQUIRE(poll(&waited, 1, kMostMs) == 1);
  }

 private:
  int listener_;
  std::string uri_;
};

/// Under which a single try to reach a server that hangs takes some seconds.
constexpr const char* kLongWindow = "1h";

}  // namespace

TEST_CASE("the shorter of two waits ends a run whose store is away", "[process][run][R15]") {
  ToolFixture fixture;
  const auto status_after = [&](const char* wait, const char* patience) {
    return fixture.status({"run", "--wait", wait, "--store-patience", patience, "--takeover-after",
                           "2s", "--uri", kAway, "jobs", "--", "true"});
  };
  CHECK(status_after("1h", "0s") == 69);
  CHECK_THAT(fixture.messages, !Catch::Contains("waiting for the store"));
  CHECK(status_after("1h", "10s") == 69);
  CHECK_THAT(fixture.messages, Catch::Contains("waiting for the store"));
  CHECK(status_after("300ms", "1h") == 69);
}

TEST_CASE("a run without a limit waits for a store that is away, until a signal",
          "[process][run][R15]") {
  const ToolFixture fixture;
  const auto run =
      fixture.start({"run", "--takeover-after", "2s", "--uri", kAway, "jobs", "--", "true"});
  CHECK_THAT(run->next_message(), Catch::Contains("waiting for the store"));
  run->send(SIGTERM);
  CHECK(run->wait() == 128 + SIGTERM);
}

TEST_CASE("a signal ends a run in the middle of an opening that hangs", "[process][run][R15]") {
  const ToolFixture fixture;
  const SilentServer server;
  const std::string wait = GENERATE("0", "1h");
  const auto run = fixture.start({"run", "--wait", wait, "--takeover-after", kLongWindow, "--uri",
                                  server.uri(), "jobs", "--", "true"});
  server.await_client();
  run->send(SIGTERM);
  CHECK(run->wait() == 128 + SIGTERM);
  CHECK(run->rest_of_messages() == "distlock: SIGTERM while waiting for jobs\n");
}

TEST_CASE("a signal ends a run that waits for its connection string", "[process][run][R15]") {
  const ToolFixture fixture;
  const std::string pipe = (fixture.folder.path() / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR) == 0);
  const auto run = fixture.start({"run", "--uri-file", pipe, "jobs", "--", "true"});
  const int writer = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);  // Once the run has opened it.
  REQUIRE(writer >= 0);
  run->send(SIGTERM);
  close(writer);  // A run that goes on finds it empty.
  CHECK(run->wait() == 128 + SIGTERM);
}

TEST_CASE("a wait that ends in the middle of an opening ends the run", "[process][run][R15]") {
  ToolFixture fixture;
  const SilentServer server;
  CHECK(fixture.status({"run", "--wait", "10ms", "--takeover-after", kLongWindow, "--uri",
                        server.uri(), "jobs", "--", "true"}) == 69);
  CHECK_THAT(fixture.messages, Catch::Contains("took longer than the wait"));
}

TEST_CASE("a wait goes on where its file was removed and made again", "[process][run][R15]") {
  ToolFixture fixture;
  // The longer ones are more than 64 bits of nanoseconds, by less and by more than once around.
  const std::string limit = GENERATE("", "5m", "150000d", "3000000d");
  const auto holder = fixture.hold();
  ToolFixture::Words words{"run", "jobs", "--", "sh", "-c", "echo $DISTLOCK_FENCE"};
  if (!limit.empty()) words.insert(words.begin() + 1, {"--wait", limit});
  const auto waiter = fixture.start(words);
  const auto stands = [&] {
    return fixture.status({"status", "jobs"}) == 0 &&
           fixture.output.find("1st") != std::string::npos;
  };
  while (!stands()) continue;
  for (const auto& file : std::filesystem::directory_iterator(fixture.folder.path()))
    std::filesystem::remove(file.path());
  REQUIRE(fixture.status({"run", "another", "--", "true"}) == 0);  // It makes the file anew.
  CHECK(waiter->next_output() == "1");
  CHECK(waiter->wait() == 0);
  CHECK_THAT(waiter->rest_of_messages(), Catch::Contains("replaced or removed"));
}
