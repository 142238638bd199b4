#pragma once

#include <signal.h>

#include <string>

#include "mongo/server.h"

namespace distlock::testing {

/// Until destroyed, makes the server of `server` fail commands of one kind on one collection of its
/// database: the next one, or with the mode "alwaysOn" (JSON) all. `how` says in which way: fields
/// of failCommand's `data`, as JSON.
class FailPoint {
 public:
  FailPoint(const Server& server, const std::string& command, std::string_view collection,
            const std::string& how, const std::string& mode = R"({"times": 1})");
  ~FailPoint();
  FailPoint(const FailPoint&) = delete;
  FailPoint& operator=(const FailPoint&) = delete;

 private:
  const Server& server_;
};

/// The process behind one port, stopped (SIGSTOP) until continued or destroyed. From its
/// constructor's end on it does nothing any more.
class Stopped {
 public:
  explicit Stopped(int port);
  ~Stopped() { go_on(); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

  void go_on() { ::kill(pid_, SIGCONT); }

 private:
  pid_t pid_;
};

/// A URI for one member alone.
std::string direct_uri(int port);
/// The ports that a URI names, in its order.
std::vector<int> ports_of(const std::string& uri);
/// `ports` but for one.
std::vector<int> without(std::vector<int> ports, int port);
/// Of the members on `ports`: the one that says that it is the primary, or 0.
int primary_among(const std::vector<int>& ports);
/// Has one of the members on `ports` elected while the primary does not answer. The sets of
/// tools/with-mongod elect nobody by themselves.
void elect_among(const std::vector<int>& ports);
/// Makes the member on `port` the primary, and waits until it is.
void step_up(const std::string& uri, int port);
/// Waits until the set has a primary and everything that it confirms is on every data-bearing
/// member, as it is before a test.
void wait_until_whole(const std::string& uri);

}  // namespace distlock::testing
