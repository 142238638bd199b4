#include "mongo/mock_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace distlock::testing {
namespace {

constexpr std::int32_t kOpReply = 1;
constexpr std::int32_t kOpQuery = 2004;
constexpr std::int32_t kOpMsg = 2013;

struct Header {
  std::int32_t length;
  std::int32_t id;
  std::int32_t response_to;
  std::int32_t kind;
};

bool read_all(int connection, void* to, std::size_t size) {
  return recv(connection, to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

// What stands between the header and the document.
std::string preamble(std::int32_t kind) {
  // OP_MSG: flags and one section of kind 0.
  if (kind == kOpMsg) return std::string(5, '\0');
  // OP_REPLY: flags, cursor, first, and that one document follows.
  return std::string(16, '\0') + '\1' + std::string(3, '\0');
}

}  // namespace

MockServer::MockServer(Bson hello)
    : hello_(std::move(hello)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  listen(listener_, 8);
  thread_ = std::thread([this] { serve(); });
}

MockServer::~MockServer() {
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
}

void MockServer::serve() {
  std::vector<pollfd> sockets{{listener_, POLLIN, 0}};
  while (poll(sockets.data(), sockets.size(), -1) > 0) {
    if ((sockets[0].revents & POLLHUP) != 0) break;
    if ((sockets[0].revents & POLLIN) != 0) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) break;
      sockets.push_back({connection, POLLIN, 0});
      continue;
    }
    for (std::size_t i = 1; i < sockets.size(); ++i) {
      if (sockets[i].revents != 0) answer(sockets[i].fd);
      // A closed one would be ready for ever.
      char byte = 0;
      if (recv(sockets[i].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
        close(sockets[i].fd);
        sockets.erase(sockets.begin() + static_cast<std::ptrdiff_t>(i--));
      }
    }
  }
  for (std::size_t i = 1; i < sockets.size(); ++i) close(sockets[i].fd);
}

void MockServer::answer_with(Bson hello) {
  const std::lock_guard guard(mutex_);
  hello_ = std::move(hello);
}

void MockServer::answer(int connection) {
  Header header{};
  if (!read_all(connection, &header, sizeof(header))) return;
  std::vector<char> body(static_cast<std::size_t>(header.length) - sizeof(header));
  if (!read_all(connection, body.data(), body.size())) return;
  const std::lock_guard guard(mutex_);
  const std::string before = preamble(header.kind);
  const auto length = static_cast<std::int32_t>(sizeof(header) + before.size() + hello_.get()->len);
  const Header reply{length, 1, header.id, header.kind == kOpQuery ? kOpReply : kOpMsg};
  std::string message(reinterpret_cast<const char*>(&reply), sizeof(reply));
  message += before;
  message.append(reinterpret_cast<const char*>(bson_get_data(hello_.get())), hello_.get()->len);
  send(connection, message.data(), message.size(), MSG_NOSIGNAL);
}

}  // namespace distlock::testing
