#include "mongo/mock_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
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

// The command in the body of a message, if it is one of a program and not of the driver itself.
std::optional<Bson> command_in(std::int32_t kind, const std::string& body) {
  constexpr std::size_t kPreamble = 5;
  bson_t document;
  bson_iter_t first;
  if (kind != kOpMsg || body.size() < kPreamble ||
      !bson_init_static(&document, reinterpret_cast<const std::uint8_t*>(body.data()) + kPreamble,
                        body.size() - kPreamble) ||
      !bson_iter_init(&first, &document) || !bson_iter_next(&first))
    return std::nullopt;
  const std::string_view name = bson_iter_key(&first);
  const bool by_driver = name == "hello" || name == "ismaster" || name == "endSessions" ||
                         (name == "isMaster" && !bson_has_field(&document, "maxTimeMS"));
  return by_driver ? std::nullopt : std::optional<Bson>(std::in_place, &document);
}

bool asks_for_no_concern_there_is(const Bson& command) {
  bson_iter_t iter;
  bson_iter_t level;
  return bson_iter_init(&iter, command.get()) &&
         bson_iter_find_descendant(&iter, "readConcern.level", &level) &&
         BSON_ITER_HOLDS_UTF8(&level) &&
         std::string_view(bson_iter_utf8(&level, nullptr)) == "distlock";
}

// The bytes between the header and the document.
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
  constexpr int kUntilHeldIsAskedMs = 10;
  while (poll(sockets.data(), sockets.size(), held_.empty() ? -1 : kUntilHeldIsAskedMs) >= 0) {
    answer_held();
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
        std::erase_if(held_, [&](const Question& one) { return one.connection == sockets[i].fd; });
        close(sockets[i].fd);
        sockets.erase(sockets.begin() + static_cast<std::ptrdiff_t>(i--));
      }
    }
  }
  for (std::size_t i = 1; i < sockets.size(); ++i) close(sockets[i].fd);
}

void MockServer::hello_with(Bson hello) {
  const std::lock_guard guard(mutex_);
  hello_ = std::move(hello);
}

void MockServer::answer_with(Answer answer) {
  const std::lock_guard guard(mutex_);
  answer_ = std::move(answer);
}

void MockServer::heed_no_read_concern() {
  const std::lock_guard guard(mutex_);
  heeds_read_concerns_ = false;
}

void MockServer::spoil_with(Spoil spoil) {
  const std::lock_guard guard(mutex_);
  spoil_ = std::move(spoil);
}

void MockServer::spoil_hello_with(Spoil spoil) {
  const std::lock_guard guard(mutex_);
  spoil_hello_ = std::move(spoil);
}

void MockServer::hold_back_while(Hold hold) {
  const std::lock_guard guard(mutex_);
  hold_ = std::move(hold);
}

std::vector<Bson> MockServer::commands() {
  const std::lock_guard guard(mutex_);
  std::vector<Bson> copies;
  for (const Bson& command : commands_) copies.emplace_back(command.get());
  return copies;
}

void MockServer::forget_commands() {
  const std::lock_guard guard(mutex_);
  commands_.clear();
}

Bson MockServer::answer_to(const Bson& command) {
  if (heeds_read_concerns_ && asks_for_no_concern_there_is(command))
    return doc({{"ok", 0}, {"code", 9}, {"errmsg", "no such read concern"}});
  commands_.emplace_back(command.get());
  return answer_ ? answer_(command) : Bson(hello_.get());
}

void MockServer::answer(int connection) {
  Header header{};
  if (!read_all(connection, &header, sizeof(header))) return;
  std::string body(static_cast<std::size_t>(header.length) - sizeof(header), '\0');
  if (!read_all(connection, body.data(), body.size())) return;
  const std::lock_guard guard(mutex_);
  Question question{connection, header.id, header.kind, command_in(header.kind, body)};
  if (question.command && hold_ && hold_(*question.command)) {
    held_.push_back(std::move(question));
  } else {
    answer(question);
  }
}

void MockServer::answer_held() {
  const std::lock_guard guard(mutex_);
  std::erase_if(held_, [this](const Question& question) {
    if (hold_ && hold_(*question.command)) return false;
    answer(question);
    return true;
  });
}

void MockServer::answer(const Question& question) {
  const auto& [connection, id, kind, command] = question;
  const Bson document = command ? answer_to(*command) : Bson(hello_.get());
  const std::string before = preamble(kind);
  const auto length =
      static_cast<std::int32_t>(sizeof(Header) + before.size() + document.get()->len);
  const Header reply{length, 1, id, kind == kOpQuery ? kOpReply : kOpMsg};
  std::string message(reinterpret_cast<const char*>(&reply), sizeof(reply));
  message += before;
  message.append(reinterpret_cast<const char*>(bson_get_data(document.get())), document.get()->len);
  if (const Spoil& spoil = command ? spoil_ : spoil_hello_) spoil(message);
  send(connection, message.data(), message.size(), MSG_NOSIGNAL);
}

std::string standalone_hello() {
  return R"("ismaster": true, "maxBsonObjectSize": 16777216, "maxMessageSizeBytes": 48000000,
      "maxWriteBatchSize": 100000, "logicalSessionTimeoutMinutes": 30,
      "localTime": {"$date": {"$numberLong": "1300000000000"}},
      "minWireVersion": 0, "maxWireVersion": 17, "ok": 1.0)";
}

std::string member_hello(bool primary, const std::vector<int>& ports) {
  std::string hosts;
  for (const int port : ports)
    hosts += (hosts.empty() ? "\"127.0.0.1:" : ", \"127.0.0.1:") + std::to_string(port) + '"';
  std::string hello = standalone_hello();
  if (!primary) hello.replace(hello.find("true"), 4, "false, \"secondary\": true");
  return hello + R"(, "setName": "rs", "setVersion": 1, "me": "127.0.0.1:)" +
         std::to_string(ports.front()) + R"(", "hosts": [)" + hosts + "]";
}

}  // namespace distlock::testing
