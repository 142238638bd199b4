#include "distlock/log.h"

// Linked into every test program: Boost.Log without a sink would print each record. A test of the
// log sets its own level and sink.
namespace {

[[maybe_unused]] const bool kQuiet = [] {
  distlock::set_log_level(distlock::LogLevel::off);
  return true;
}();

}  // namespace
