#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "stores/mongodb/mongo_bson.h"

namespace distlock::testing {

/// Answers every message on a port of 127.0.0.1 with a document, as servers that we cannot run here
/// would: `hello` to a driver that asks who it is, and to a command what answer_with() says, or the
/// same. It keeps the commands that came.
class MockServer {
 public:
  using Answer = std::function<Bson(const Bson& command)>;
  using Spoil = std::function<void(std::string& message)>;

  explicit MockServer(Bson hello);
  ~MockServer();
  MockServer(const MockServer&) = delete;
  MockServer& operator=(const MockServer&) = delete;

  int port() const { return port_; }

  // From now on. Threads: any.
  void hello_with(Bson hello);
  void answer_with(Answer answer);
  /// As something that is like MongoDB may. By default a read concern that there is not is an
  /// error.
  void heed_no_read_concern();
  /// Changes the bytes of each answer to a command before they are sent.
  void spoil_with(Spoil spoil);

  /// The commands that came, without a driver's hello.
  std::vector<Bson> commands();
  void forget_commands();

 private:
  void serve();
  void answer(int connection);
  Bson answer_to(const Bson& command);

  std::mutex mutex_;  ///< Of all that follows, but not of the sockets.
  Bson hello_;
  Answer answer_;
  Spoil spoil_;
  bool heeds_read_concerns_ = true;
  std::vector<Bson> commands_;
  int listener_;
  int port_ = 0;
  std::thread thread_;
};

/// The fields by which a server describes itself, as JSON without the braces.
std::string standalone_hello();
/// The same of a member of the set "rs" with these ports, the first of which is its own.
std::string member_hello(bool primary, const std::vector<int>& ports);

}  // namespace distlock::testing
