#include "cli/holder.h"

#include <charconv>
#include <string_view>

namespace distlock::cli {
namespace {

constexpr std::string_view kNumber = "/pid";

// The text between `process:` and `:random`.
std::string_view thread_of(const std::string& process, std::string_view who) {
  if (!who.starts_with(process + ':')) return {};
  who.remove_prefix(process.size() + 1);
  return who.substr(0, who.rfind(':'));
}

Holder as_stated(const std::string& process, std::string_view who) {
  Holder holder{.host = process.substr(0, process.find(':'))};
  const std::string_view thread = thread_of(process, who);
  const std::size_t begin = thread.find(kNumber);
  if (begin == thread.npos) return holder;
  const std::string_view label = thread.substr(begin + kNumber.size());
  const std::size_t slash = label.find('/');
  const std::string_view number = label.substr(0, slash);
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(number.begin(), number.end(), value);
  if (error != std::errc{} || rest != number.end()) return holder;
  holder.process_number = value;
  if (slash != label.npos && slash + 1 < label.size()) holder.user = label.substr(slash + 1);
  return holder;
}

}  // namespace

Holder holder_of(const LockRecord& lock) { return as_stated(lock.process, lock.who); }

Holder holder_of(const Waiter& waiter) { return as_stated(waiter.process, waiter.who); }

}  // namespace distlock::cli
