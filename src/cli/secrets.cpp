#include "cli/secrets.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/connection.h"
#include "cli/passwords.h"
#include "distlock/error.h"
#include "text.h"

namespace distlock::cli {
namespace {

constexpr const char* kUri = "DISTLOCK_URI";

std::optional<rlimit> core_limit_before;

bool has_secrets(const ConnectionString& connection) {
  return is_on_mongodb(connection) && connection.redacted() != connection.text();
}

// Of a string that cannot be used.
bool may_have_secret(const std::string& uri) {
  return in_lower_case(uri).find("mongodb") != uri.npos || uri.find("://") != uri.npos ||
         uri.find('@') != uri.npos;
}

// The part of it that may be shown, or nothing if all of it may.
std::optional<std::string> shown_instead(const std::string& uri) {
  try {
    const ConnectionString connection(uri);
    if (!has_secrets(connection)) return std::nullopt;
    return connection.redacted();
  } catch (const Error&) {
    return may_have_secret(uri) ? std::optional<std::string>("mongodb:***") : std::nullopt;
  }
}

}  // namespace

void hide_secrets(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::size_t at = server_uri_in(words[i]);
    if (at == std::string_view::npos) continue;
    char* const uri = words[i] + at;
    const auto shown = shown_instead(uri);
    if (!shown) continue;
    const std::size_t room = std::strlen(uri);
    std::memset(uri, 0, room);
    std::copy_n(shown->data(), std::min(room, shown->size()), uri);
  }
}

void hide_secret_in_environment() {
  const std::string assigned = std::string(kUri) + "=";
  const char* const first = std::getenv(kUri);
  if (first == nullptr) return;
  const auto shown = shown_instead(first);
  // A program may give another several of them. Only the first counts.
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(assigned)) continue;
    char* const uri = *variable + assigned.size();
    if (shown_instead(uri)) std::memset(uri, '*', std::strlen(uri));
  }
  if (!shown) return;
  unsetenv(kUri);
  setenv(kUri, shown->c_str(), 1);
}

// Only the soft limit, which can be raised again without a right to. Not PR_SET_DUMPABLE: where
// /proc hides processes it would hide our own from us, among which we look for the command's.
void forbid_core_files() {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  core_limit_before = limit;
  limit.rlim_cur = 0;
  setrlimit(RLIMIT_CORE, &limit);
}

void restore_core_files() {
  if (core_limit_before) setrlimit(RLIMIT_CORE, &*core_limit_before);
}

void check_has_its_secrets(const ConnectionString& connection) {
  const std::string& text = connection.text();
  const bool hidden = text.find(":***@") != text.npos || text.find("=***") != text.npos;
  if (!is_on_mongodb(connection) || !hidden) return;
  throw Error(Errc::invalid_argument,
              "the password in " + connection.redacted() +
                  " is hidden: distlock run hands none to its command. Use DISTLOCK_URI_FILE or "
                  "--uri-file there");
}

void warn_of_readers(const ConnectionString& connection, const StoreArguments& arguments,
                     std::ostream& err) {
  if (!has_secrets(connection)) return;
  if (arguments.uri_on_command_line) {
    err << "distlock: warning: a password on the command line can be read by every user of this "
           "host while distlock starts; use --uri-file or DISTLOCK_URI\n";
  }
  struct stat file {};
  const bool from_file = !arguments.uri && arguments.uri_file;
  if (from_file && stat(arguments.uri_file->c_str(), &file) == 0 &&
      (file.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    err << "distlock: warning: " << escaped(*arguments.uri_file)
        << " has a password and is open to every user of this host; chmod 600 it\n";
  }
}

}  // namespace distlock::cli
