#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "distlock/record.h"
#include "distlock/store.h"
#include "text.h"

// The parts of a line of the log.
namespace distlock::log {

inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, std::int64_t part) { text += std::to_string(part); }

// Texts to be escaped late, where want of memory does no harm.
struct Escaped {
  std::string_view text;
};
struct Quoted {
  std::string_view text;
};
inline void append(std::string& text, Escaped part) { text += escaped(part.text); }
inline void append(std::string& text, Quoted part) { text += in_quotes(part.text); }

inline void append(std::string& text, const LockRecord& lock) {
  text += "{ _id: \"" + escaped(lock.name) +
          "\", state: " + std::to_string(static_cast<int>(lock.state)) + ", who: \"" +
          escaped(lock.who) + "\", process: \"" + escaped(lock.process) + "\", why: \"" +
          escaped(lock.why) + "\"";
  if (lock.ts) text += ", ts: " + to_hex(*lock.ts);
  text += " }";
}

inline void append_store(std::string& text, const Store& store) {
  const std::string description = store.description();
  if (!description.empty()) text += " [" + description + ']';
}

// In the largest unit of which there are two at least.
inline std::string rounded(std::chrono::milliseconds duration) {
  using namespace std::chrono;
  if (duration >= minutes{2}) return std::to_string(floor<minutes>(duration).count()) + " minutes";
  if (duration >= seconds{2}) return std::to_string(floor<seconds>(duration).count()) + " s";
  return std::to_string(duration.count()) + " ms";
}

}  // namespace distlock::log
