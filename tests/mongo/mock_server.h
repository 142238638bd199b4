#pragma once

#include <mutex>
#include <thread>

#include "stores/mongodb/mongo_bson.h"

namespace distlock::testing {

/// Answers every message on a port of 127.0.0.1 with one document, as servers that we cannot run
/// here would answer `hello`.
class MockServer {
 public:
  explicit MockServer(Bson hello);
  ~MockServer();
  MockServer(const MockServer&) = delete;
  MockServer& operator=(const MockServer&) = delete;

  int port() const { return port_; }

  /// From now on. Threads: any.
  void answer_with(Bson hello);

 private:
  void serve();
  void answer(int connection);

  std::mutex mutex_;  ///< Of hello_.
  Bson hello_;
  int listener_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace distlock::testing
