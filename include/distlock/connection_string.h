#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/export.h"

namespace distlock {

enum class StoreKind { memory, sqlite, mongodb, mirrored };

/// Which store, and how to reach it.
///
/// - `mongodb://…`, `mongodb+srv://…`: MongoDB 4.2 or newer. The database of the URI, or `config`.
///   A `maxPoolSize` below 8 counts as 8, so that pings find a connection. In a
///   `mirrored+mongodb:` string, a value below 37 counts as 37.
/// - `sqlite:PATH`: one SQLite file on a local disk.
/// - `sqlite:PATH?synchronous=off`: the same, faster. A crash of the machine may undo the last
///   writes; a crash of a process does not (docs/guarantees.md).
/// - `memory:`: inside this process.
/// - `mirrored+mongodb://HOST,HOST,HOST/…`: standalone servers that do not know each other, as one
///   store (make_mirrored_store()). 3, 5, 7 or 9 of them, in the same order for all processes.
/// - `mirrored+sqlite:PATH,PATH,PATH`, also with `?synchronous=off`: the same of files, best on
///   disks of their own. A comma in a path is written `\,`, a backslash before one `\\`.
/// - Behind either, the option `longestTakeoverMS=NUMBER`: MirrorOptions::longest_takeover.
class DISTLOCK_EXPORT ConnectionString {
 public:
  /// Errors: `invalid_argument` for an unknown scheme or option, a missing path or host, a port
  /// out of range. The message shows the string without its password and what to write instead.
  explicit ConnectionString(std::string_view text);

  StoreKind kind() const { return kind_; }

  /// Fit for messages and logs: the password, and every option that may hold a secret, replaced.
  const std::string& redacted() const { return redacted_; }

  /// As it was given. May hold a password.
  const std::string& text() const { return text_; }

  /// Of a `sqlite:` string: the file.
  const std::string& path() const { return path_; }
  /// Of a `sqlite:` string: whether a confirmed write survives a crash of the machine.
  bool durable() const { return durable_; }

  /// Of a `mirrored+` string: one for each member. Otherwise empty.
  const std::vector<ConnectionString>& members() const { return members_; }
  /// Of a `mirrored+` string with `longestTakeoverMS`: MirrorOptions::longest_takeover.
  std::optional<std::chrono::milliseconds> longest_takeover() const { return longest_takeover_; }

  friend bool operator==(const ConnectionString& a, const ConnectionString& b) {
    return a.text_ == b.text_;
  }

 private:
  StoreKind kind_ = StoreKind::memory;
  std::string text_;
  std::string redacted_;
  std::string path_;
  bool durable_ = true;
  std::vector<ConnectionString> members_;
  std::optional<std::chrono::milliseconds> longest_takeover_;
};

}  // namespace distlock
