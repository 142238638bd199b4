#include "pinger/identity.h"

#include <pwd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "distlock/error.h"
#include "fork_guard.h"
#include "processes.h"
#include "protocol/protocol.h"
#include "text.h"
#include "thread_number.h"

namespace distlock {
namespace {

// From the kernel, some at a time. A forked child must not go on with its parent's.
class RandomNumbers {
 public:
  std::uint64_t next() {
    if (unused_ == 0 || made_in_.in_child()) refill();
    return numbers_[--unused_];
  }

 private:
  void refill() {
    const std::size_t size = sizeof numbers_;
    if (getrandom(numbers_.data(), size, 0) != static_cast<ssize_t>(size)) {
      throw Error(Errc::not_applied, "the system has no random numbers");
    }
    unused_ = numbers_.size();
    made_in_ = ForkGuard{};
  }

  std::array<std::uint64_t, 32> numbers_{};
  std::size_t unused_ = 0;
  ForkGuard made_in_;
};

std::uint64_t system_random() {
  thread_local RandomNumbers numbers;
  return numbers.next();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name.front() == '\0') return "localhost";
  return name.data();
}

std::string user_name() {
  const uid_t id = geteuid();
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> room{};
  const bool known = getpwuid_r(id, &entry, room.data(), room.size(), &found) == 0 && found;
  return known && is_utf8(entry.pw_name) ? entry.pw_name : std::to_string(id);
}

std::int64_t unix_seconds(const Environment& environment) {
  const auto now = environment.clock->wall_now().time_since_epoch();
  return std::chrono::floor<std::chrono::seconds>(now).count();
}

// 31 bits, as the original's rand().
std::string random_number(const Environment& environment) {
  return std::to_string(environment.random() >> 33U);
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return {digits.data(), end};
}

// As `distlock run` tells its command.
std::vector<Token> outer_holds() {
  std::vector<Token> holds;
  const std::string tokens = outer_tokens();
  for (std::string_view rest = tokens; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    if (const auto hold = token_from_hex(one)) holds.push_back(*hold);
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  return holds;
}

}  // namespace

Environment completed(Environment environment) {
  if (!environment.store) throw Error(Errc::invalid_argument, "a pinger needs a store");
  if (!environment.clock) environment.clock = host_clock();
  if (!environment.random) environment.random = system_random;
  if (environment.process.empty()) {
    if (environment.outer_holds.empty()) environment.outer_holds = outer_holds();
    if (environment.label.empty()) {
      environment.label = "pid" + std::to_string(getpid()) + '/' + user_name();
    }
    environment.process = new_process(environment, host_name());
  }
  protocol::check_process(environment.process);
  protocol::check_label(environment.label);
  return environment;
}

std::string new_process(const Environment& environment, std::string_view host) {
  return escaped(host) + ':' + std::to_string(unix_seconds(environment)) + ':' +
         hexadecimal(environment.random());
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

std::string name_of_thread(const Environment& environment, std::uint64_t number) {
  const std::string label = environment.label.empty() ? "" : '/' + environment.label;
  return environment.process + ":thread" + std::to_string(number) + label;
}

std::string this_thread_of(const Environment& environment) {
  return name_of_thread(environment, this_thread_number());
}

std::string new_who(const Environment& environment) {
  return this_thread_of(environment) + ':' + random_number(environment);
}

}  // namespace distlock
