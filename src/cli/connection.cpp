#include "cli/connection.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "cli/command_options.h"
#include "distlock/error.h"
#include "failure.h"
#include "identity_name.h"
#include "text.h"
#include "uri/mongodb_uri.h"

namespace distlock::cli {
namespace {

// Editors leave a byte order mark before a line, and blanks behind it that nobody sees.
std::string trimmed(std::string_view line) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::string_view kBlanks = " \t\r";
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  return std::string(line.substr(0, line.find_last_not_of(kBlanks) + 1));
}

// Of a file that is something else, a key say, nothing is shown.
[[noreturn]] void refuse_line_of(const std::string& path) {
  throw Error(Errc::invalid_argument,
              shown(path) + ": its first line is no connection string, as sqlite:PATH is");
}

// Longer than any connection string. A device has no end.
constexpr std::streamsize kLineMost = 65536;

std::string first_line(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::string line(kLineMost, '\0');
  if (!file || !file.getline(line.data(), kLineMost)) {
    if (file.gcount() == kLineMost - 1) refuse_line_of(path);
    const int error = errno;
    throw Error(error == EACCES ? Errc::permission_denied : Errc::invalid_argument,
                "cannot read a connection string from " + shown(path) +
                    (error != 0 ? std::string(": ") + std::strerror(error) : ": it is empty"));
  }
  line.resize(std::strlen(line.c_str()));
  return trimmed(line);
}

bool has_scheme(std::string_view text) {
  return is_mongodb(text) || text.starts_with("sqlite:") || text.starts_with("memory:") ||
         text.starts_with("mirrored+");
}

ConnectionString in_file(const std::string& path) {
  const std::string line = first_line(path);
  if (!has_scheme(line)) refuse_line_of(path);
  return ConnectionString(line);
}

// Mode 0700, whatever the umask.
void make_folders(const std::filesystem::path& folder) {
  if (access(folder.c_str(), F_OK) == 0) return;
  make_folders(folder.parent_path());
  if (mkdir(folder.c_str(), S_IRWXU) == 0) {
    chmod(folder.c_str(), S_IRWXU);
  } else if (const int error = errno; error != EEXIST) {
    throw Error(path_failure(error), "cannot make the folder " + in_quotes(folder.string()) + ": " +
                                         std::strerror(error) +
                                         "; name another place with --uri sqlite:PATH");
  }
}

bool lacks_file(const ConnectionString& connection) {
  if (connection.kind() != StoreKind::sqlite) return false;
  return access(connection.path().c_str(), F_OK) != 0 && errno == ENOENT;
}

}  // namespace

ConnectionString connection_of(const StoreArguments& arguments) {
  if (arguments.uri) return ConnectionString(*arguments.uri);
  if (arguments.uri_file) return in_file(*arguments.uri_file);
  if (arguments.fallback) return ConnectionString(*arguments.fallback);
  throw Error(Errc::invalid_argument,
              "no store is named: say --uri sqlite:PATH, or set DISTLOCK_URI or HOME");
}

bool is_on_mongodb(const ConnectionString& connection) {
  if (connection.kind() != StoreKind::mirrored) return connection.kind() == StoreKind::mongodb;
  return is_on_mongodb(connection.members().front());
}

void make_default_folder(const StoreArguments& arguments) {
  if (arguments.uri || arguments.uri_file || !arguments.fallback) return;
  make_folders(std::filesystem::path(ConnectionString(*arguments.fallback).path()).parent_path());
}

void check_is_there(const ConnectionString& connection) {
  // A mirrored store can do without a minority of its files.
  const std::vector<ConnectionString>& members = connection.members();
  const auto missing = std::count_if(members.begin(), members.end(), lacks_file);
  if (static_cast<std::size_t>(missing) > members.size() / 2) {
    check_is_there(*std::find_if(members.begin(), members.end(), lacks_file));
  }
  if (!lacks_file(connection)) return;
  throw Error(Errc::not_applied, "there is no file " + in_quotes(connection.path()) +
                                     "; check the path, or make it with distlock run");
}

std::string member_in_words(const LockRecord& identity, const ConnectionString& connection) {
  if (!shows_identity(identity)) return "";
  return connection.redacted() + " is " + escaped(identity.who) +
         " of a mirrored store: name all its members, as in mirrored+" +
         (connection.kind() == StoreKind::sqlite ? "sqlite:A,B,C" : "mongodb://A,B,C/DATABASE");
}

void check_is_no_member(Store& store, const ConnectionString& connection) {
  if (store.members() != nullptr) return;
  // A member is no replica set, so no look need wait until a majority of one answers.
  const Inspection seen = store.inspect(kIdentityName, Freshness::ordinary);
  const std::string member = seen.lock ? member_in_words(*seen.lock, connection) : "";
  if (!member.empty()) throw Error(Errc::invalid_argument, member);
}

void check_is_a_lock(std::string_view name) {
  if (name != kIdentityName) return;
  throw Error(Errc::invalid_argument,
              in_quotes(name) + " is no lock: it says of which mirrored store a store is a member");
}

void check_excludes(const ConnectionString& connection) {
  if (connection.kind() != StoreKind::memory) return;
  throw Error(Errc::invalid_argument,
              "a lock in memory: excludes nobody, since no other process has it; name a file that "
              "all use, as in sqlite:PATH");
}

}  // namespace distlock::cli
