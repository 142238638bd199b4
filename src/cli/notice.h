#pragma once

#include "distlock/clock.h"

namespace distlock::cli {

/// The word of a command's parent that its keeper reads at any time: in memory that both share
/// after a fork. So a keeper that was stopped finds the last word when it goes on, and no old one.
class Notice {
 public:
  /// Errors: std::system_error if there is no memory.
  Notice();
  ~Notice();
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

  /// When all of the command must be killed. SteadyTime::max(), as at the start: never.
  SteadyTime kill_at() const;
  void set_kill_at(SteadyTime at);

  /// The command has ended.
  bool dismissed() const;
  void dismiss();

 private:
  struct Words;

  Words* words_;
};

}  // namespace distlock::cli
