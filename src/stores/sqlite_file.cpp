#include "stores/sqlite_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "distlock/error.h"
#include "text.h"

namespace distlock {
namespace {

constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPrivateFolder = 0700;

[[noreturn]] void fail(const std::string& operation, const std::string& path, int error) {
  const bool denied = error == EACCES || error == EPERM || error == EROFS;
  throw Error(
      denied ? Errc::permission_denied : Errc::not_applied,
      operation + ' ' + distlock::quoted(path) + ": " + std::generic_category().message(error));
}

void make_folders(const std::filesystem::path& folder) {
  struct stat status {};
  if (folder.empty() || stat(folder.c_str(), &status) == 0) return;
  make_folders(folder.parent_path());
  if (mkdir(folder.c_str(), kPrivateFolder) == 0) {
    chmod(folder.c_str(), kPrivateFolder);
  } else if (errno != EEXIST) {
    fail("make the folder", folder.string(), errno);
  }
}

// Gives `path` a new file that appears with its mode already right. Not opened under its own name:
// to close a file again drops every lock that SQLite holds on it for this process.
void link_new_file(const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) fail("make a file beside", path, errno);
  const int error = fchmod(file, kPrivateFile) != 0              ? errno
                    : link(temporary.c_str(), path.c_str()) != 0 ? errno
                                                                 : 0;
  unlink(temporary.c_str());
  close(file);
  if (error != 0 && error != EEXIST) fail("make the file", path, error);
}

}  // namespace

std::string make_private_file(const std::string& path) {
  // Also so that no name is special to SQLite, as ":memory:" is.
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  struct stat status {};
  if (stat(absolute.c_str(), &status) != 0) {
    if (errno != ENOENT) fail("open", absolute.string(), errno);
    make_folders(absolute.parent_path());
    if (!absolute.has_filename()) {
      throw Error(Errc::invalid_argument,
                  distlock::quoted(absolute.string()) + " names a folder, not a file");
    }
    link_new_file(absolute.string());
  } else if (S_ISDIR(status.st_mode)) {
    throw Error(Errc::invalid_argument, distlock::quoted(absolute.string()) +
                                            " is a folder; name a file in it, as in sqlite:" +
                                            escaped((absolute / "locks.db").string()));
  }
  return absolute.string();
}

}  // namespace distlock
