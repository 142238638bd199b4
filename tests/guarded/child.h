#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace distlock::testing {

/// A program as a process of its own whose standard output is read.
class Child {
 public:
  explicit Child(std::vector<std::string> command);
  /// Kills it, if it still runs or is stopped.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Until it is stopped by a signal. Throws if it ends instead.
  void wait_stopped();
  void resume() const;
  void kill();
  /// Everything that it printed, once it has ended, without the last line's end.
  std::string output();

 private:
  pid_t id_ = -1;
  bool ended_ = false;
  int descriptor_ = -1;
};

}  // namespace distlock::testing
