#include "sim/trace.h"

#include <cstdio>
#include <ostream>

namespace distlock::sim {

std::string text_of(Time time) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%06lld s", static_cast<long long>(us / 1'000'000),
                static_cast<long long>(us % 1'000'000));
  return text;
}

void Trace::write(std::string_view who, const std::string& text) {
  *out_ << text_of(scheduler_.now()) << "  " << who << "  " << place_ << text << '\n';
}

}  // namespace distlock::sim
