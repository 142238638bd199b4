#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "sim/scheduler.h"

namespace distlock::sim {

/// The events of a run, a line each: true time, process, event. Written only if it is read.
class Trace {
 public:
  /// `out` may be null.
  Trace(const Scheduler& scheduler, std::ostream* out) : scheduler_(scheduler), out_(out) {}
  /// The same, of what happens at that place.
  Trace(const Trace& whole, std::string place)
      : scheduler_(whole.scheduler_), out_(whole.out_), place_(std::move(place)) {}

  /// `text` is called only if it is read.
  template <class Text>
  void say(std::string_view who, const Text& text) {
    if (out_ != nullptr) write(who, text());
  }

 private:
  void write(std::string_view who, const std::string& text);

  const Scheduler& scheduler_;
  std::ostream* out_;
  const std::string place_ = "";
};

/// `1234.567890 s`
std::string text_of(Time time);

}  // namespace distlock::sim
