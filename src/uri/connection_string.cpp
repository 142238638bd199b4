#include "distlock/connection_string.h"

#include <utility>

#include "distlock/error.h"
#include "text.h"
#include "uri/mirrored_string.h"
#include "uri/mongodb_uri.h"
#include "uri/redacted_uri.h"

namespace distlock {
namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kMemory = "memory:";
constexpr std::string_view kMirrored = "mirrored+";
constexpr std::string_view kForms =
    "write mongodb://HOST:PORT/?replicaSet=NAME, sqlite:PATH or memory:, or name several members "
    "behind mirrored+mongodb:// or mirrored+sqlite:";

[[noreturn]] void refuse_string(const std::string& shown, std::string_view problem) {
  throw Error(Errc::invalid_argument,
              "connection string \"" + shown + "\": " + std::string(problem));
}

struct SqliteOptions {
  std::string path;
  bool durable = true;
};

// Another store's connection string behind `sqlite:`, password and all, or meant as one.
bool looks_like_a_uri(std::string_view path) {
  return path.starts_with("//") || names_a_kind(path);
}

std::string problem_of_sqlite_path(std::string_view path) {
  if (path.empty()) return "the path is missing; write sqlite:PATH";
  if (names_a_kind(path)) {
    return "the path is a URI; leave out sqlite:, or write sqlite:PATH with single slashes, and "
           "begin it with ./ if the file is called so";
  }
  if (path.find('\0') != std::string_view::npos) return "the path has a NUL";
  if (path.starts_with("~")) return "'~' is not expanded here; write the folder out";
  // Elsewhere, `sqlite://x` is a relative path, and a path of two slashes means one.
  if (path.starts_with("//") && !path.starts_with("///")) {
    return "a path cannot begin with '//'; write sqlite:/PATH, or sqlite:PATH for a relative one";
  }
  return "";
}

SqliteOptions sqlite_options(std::string_view rest) {
  const std::size_t question = rest.find('?');
  const std::string_view path = rest.substr(0, question);
  const std::string shown = std::string(kSqlite) + (looks_like_a_uri(path) ? "***" : escaped(path));
  if (const std::string problem = problem_of_sqlite_path(path); !problem.empty()) {
    refuse_string(shown, problem);
  }
  if (question == std::string_view::npos) return {std::string(path), true};
  const std::string_view option = rest.substr(question + 1);
  if (option == "synchronous=full") return {std::string(path), true};
  if (option == "synchronous=off") return {std::string(path), false};
  refuse_string(shown + "?***",
                "the only option after '?' is synchronous=full (the default) or synchronous=off");
}

MirroredString mirrored_members(std::string_view text) {
  MirroredString named = members_of_mirrored(text);
  if (!named.problem.empty()) refuse_string(redacted_refused_mirrored(text), named.problem);
  return named;
}

// Of a string that is accepted.
std::string redacted_mirrored(std::string_view text, const MirroredOptions& options) {
  if (!is_mongodb(text.substr(kMirrored.size()))) return escaped(text);
  if (!options.longest_takeover) return redacted_uri(text);
  std::string others = std::string(kMirrored) + options.rest;
  const bool none = others.ends_with('?');
  if (none) others.pop_back();
  return redacted_uri(others) + (none ? '?' : '&') + std::string(kLongestTakeover) + '=' +
         std::to_string(options.longest_takeover->count());
}

}  // namespace

ConnectionString::ConnectionString(std::string_view text) : text_(text) {
  if (text.empty()) refuse_string("", "it is empty; " + std::string(kForms));
  if (is_mongodb(text)) {
    const std::string problem = problem_of_mongodb_uri(text);
    if (!problem.empty()) refuse_string(redacted_malformed_uri(text), problem);
    kind_ = StoreKind::mongodb;
    redacted_ = redacted_uri(text);
  } else if (text.starts_with(kSqlite)) {
    SqliteOptions options = sqlite_options(text.substr(kSqlite.size()));
    kind_ = StoreKind::sqlite;
    redacted_ = escaped(text);
    path_ = std::move(options.path);
    durable_ = options.durable;
  } else if (text.starts_with(kMemory)) {
    if (text != kMemory) refuse_string("memory:***", "memory: takes nothing after it");
    redacted_ = text_;
  } else if (text.starts_with(kMirrored)) {
    const MirroredString named = mirrored_members(text);
    members_ = {named.members.begin(), named.members.end()};
    longest_takeover_ = named.options.longest_takeover;
    kind_ = StoreKind::mirrored;
    redacted_ = redacted_mirrored(text, named.options);
  } else {
    refuse_string(redacted_malformed_uri(text), "unknown scheme; " + std::string(kForms));
  }
}

}  // namespace distlock
