#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
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
  using Hold = std::function<bool(const Bson& command)>;

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
  /// The same of each answer to a driver that asks who this is.
  void spoil_hello_with(Spoil spoil);
  /// Holds the answer to a command back for as long as `hold` says so, which is asked again and
  /// again. Other connections are answered meanwhile.
  void hold_back_while(Hold hold);

  /// The commands that came, without a driver's hello.
  std::vector<Bson> commands();
  void forget_commands();

 private:
  struct Question {
    int connection;
    std::int32_t id;
    std::int32_t kind;
    std::optional<Bson> command;  ///< If it is none of the driver's own.
  };

  void serve();
  void answer(int connection);
  void answer_held();
  void answer(const Question& question);
  Bson answer_to(const Bson& command);

  std::mutex mutex_;  ///< Of all that follows, but not of the sockets.
  Bson hello_;
  Answer answer_;
  Spoil spoil_;
  Spoil spoil_hello_;
  Hold hold_;
  std::vector<Question> held_;
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
