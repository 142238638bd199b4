#include "identity.h"

#include <unistd.h>

#include <atomic>
#include <random>

#include "distlock/error.h"

namespace distlock {
namespace {

std::uint64_t system_random() {
  thread_local std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

std::int64_t unix_seconds(const Environment& environment) {
  const auto now = environment.clock->wall_now().time_since_epoch();
  return std::chrono::floor<std::chrono::seconds>(now).count();
}

// 31 bits, as the original's rand().
std::string random_number(const Environment& environment) {
  return std::to_string(environment.random() >> 33U);
}

// Small numbers in order of first use: the same in every run of a program, unlike system ids.
unsigned thread_number() {
  static std::atomic<unsigned> last{0};
  thread_local const unsigned number = ++last;
  return number;
}

}  // namespace

Environment completed(Environment environment) {
  if (!environment.store) throw Error(Errc::invalid_argument, "a pinger needs a store");
  if (!environment.clock) environment.clock = host_clock();
  if (!environment.random) environment.random = system_random;
  if (environment.process.empty()) {
    environment.process = host_name() + ':' + std::to_string(unix_seconds(environment)) + ':' +
                          random_number(environment);
  }
  return environment;
}

Token new_token(const Environment& environment) {
  const auto seconds = static_cast<std::uint64_t>(unix_seconds(environment));
  const std::uint64_t random = environment.random();
  Token token;
  for (std::size_t i = 0; i < 4; ++i) {
    token.bytes[i] = static_cast<std::uint8_t>(seconds >> (24 - 8 * i));
  }
  for (std::size_t i = 0; i < 8; ++i) {
    token.bytes[4 + i] = static_cast<std::uint8_t>(random >> (56 - 8 * i));
  }
  return token;
}

std::string new_who(const Environment& environment) {
  return environment.process + ":thread" + std::to_string(thread_number()) + ':' +
         random_number(environment);
}

}  // namespace distlock
