// Connections to servers that are slow, silent, on a Unix socket, or have several addresses.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "distlock/connection_string.h"
#include "stores/mongodb/mongo_connect.h"
#include "stores/mongodb/mongo_forks.h"
#include "stores/mongodb/mongo_open.h"
#include "support/asleep.h"
#include "support/forked_child.h"
#include "support/open_descriptors.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int32_t kNoLimit = INT32_MAX;

using Stream = std::unique_ptr<mongoc_stream_t, decltype(&mongoc_stream_destroy)>;

Stream connected(const std::string& host, std::int32_t most_ms = kNoLimit,
                 const std::string& options = "") {
  const Uri uri = tuned_uri(ConnectionString("mongodb://" + host + "/?" + options), 60s);
  bson_error_t error;
  return {connect_to(uri.get(), mongoc_uri_get_hosts(uri.get()), most_ms, &error),
          mongoc_stream_destroy};
}

/// A socket of this host that listens. A busy one has a connection that nobody accepts, and room
/// for no other: the system tries the next one again after a second.
class ListeningSocket {
 public:
  explicit ListeningSocket(const char* host, int port = 0) {
    address_.sin_family = AF_INET;
    address_.sin_port = htons(static_cast<std::uint16_t>(port));
    REQUIRE(inet_pton(AF_INET, host, &address_.sin_addr) == 1);
    REQUIRE(bind(socket_, where(), size_) == 0);
    REQUIRE(getsockname(socket_, where(), &size_) == 0);
    REQUIRE(listen(socket_, 0) == 0);
  }
  ~ListeningSocket() {
    close(socket_);
    close(first_);
  }
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  void be_busy() { REQUIRE(connect(first_, where(), size_) == 0); }
  void accept_one() const { close(accept(socket_, nullptr, nullptr)); }
  int port() const { return ntohs(address_.sin_port); }

 private:
  static int new_socket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }
  sockaddr* where() { return reinterpret_cast<sockaddr*>(&address_); }

  sockaddr_in address_{};
  socklen_t size_ = sizeof(address_);
  const int socket_ = new_socket();
  const int first_ = new_socket();
};

std::string at(const std::string& host, int port) { return host + ':' + std::to_string(port); }

/// Connects to a listener that takes a connection as soon as somebody waits for it.
Stream connected_while_slow() {
  ListeningSocket listener("127.0.0.1");
  listener.be_busy();
  const pid_t connecting = gettid();
  std::atomic<bool> done = false;
  std::thread accepting([&] {
    while (!done && !asleep(connecting)) std::this_thread::yield();
    listener.accept_one();
  });
  Stream stream = connected(at("127.0.0.1", listener.port()), kNoLimit);
  done = true;
  accepting.join();
  return stream;
}

}  // namespace

// In front of the system's own: this host has two addresses.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  using Own = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto own = reinterpret_cast<Own>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (host == nullptr || std::string_view(host) != "two.addresses")
    return own(host, port, hints, found);
  if (const int failure = own("127.0.0.2", port, hints, found)) return failure;
  return own("127.0.0.1", port, hints, &(*found)->ai_next);
}

TEST_CASE("a server that is slow to take a connection is connected to", "[mongo][R12]") {
  CHECK(connected_while_slow());
}

TEST_CASE("a connection is tried for no longer than its call may last", "[mongo][R12]") {
  ListeningSocket listener("127.0.0.1");
  listener.be_busy();
  CHECK_FALSE(connected(at("127.0.0.1", listener.port()), 1));
}

TEST_CASE("a thread that connects to a MongoDB server holds up no fork", "[mongo][R16][forks]") {
  ListeningSocket listener("127.0.0.1");
  listener.be_busy();
  std::atomic<pid_t> id = 0;
  std::atomic<bool> done = false;
  std::thread connecting([&] {
    const InMongoc in;
    id = gettid();
    (void)connected(at("127.0.0.1", listener.port()), 60'000);
    done = true;
  });
  while (!done && (id == 0 || !asleep(id))) std::this_thread::yield();
  const int refused = answer_of_child([] { return forked_in_call_of(Library::libmongoc) ? 1 : 0; });
  const bool in_time = !done;
  listener.accept_one();
  connecting.join();
  CHECK(in_time);
  CHECK(refused == 0);
}

TEST_CASE("a limit to connect in the connection string ends a try of a call that has more time",
          "[mongo][R12]") {
  ListeningSocket listener("127.0.0.1");
  listener.be_busy();
  auto connecting = std::async(std::launch::async, [&] {
    return connected(at("127.0.0.1", listener.port()), kNoLimit, "connectTimeoutMS=1") != nullptr;
  });
  const bool ended = connecting.wait_for(20s) == std::future_status::ready;
  listener.accept_one();
  CHECK(ended);
  CHECK_FALSE(connecting.get());
}

TEST_CASE("a server on a Unix socket is connected to by its path", "[mongo]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "mongodb.sock";
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  REQUIRE(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(listen(listener, 8) == 0);
  std::string encoded;
  for (const char c : path) encoded += c == '/' ? std::string("%2F") : std::string(1, c);
  CHECK(connected(encoded));
  close(listener);
}

TEST_CASE("each address of a host is tried", "[mongo]") {
  const ListeningSocket second("127.0.0.1");
  CHECK(connected(at("two.addresses", second.port())));
}

TEST_CASE("an address that never answers leaves time for the next one", "[mongo][R12]") {
  const ListeningSocket second("127.0.0.1");
  ListeningSocket first("127.0.0.2", second.port());
  first.be_busy();
  CHECK(connected(at("two.addresses", second.port()), 10'000));
}

TEST_CASE("a connection that is refused leaves no socket open", "[mongo]") {
  // Nobody listens on port 1.
  CHECK_FALSE(connected(at("127.0.0.1", 1)));
  const auto before = distlock::testing::open_descriptors();
  CHECK_FALSE(connected(at("127.0.0.1", 1)));
  CHECK(distlock::testing::open_descriptors() == before);
}
