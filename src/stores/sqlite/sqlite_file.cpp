#include "stores/sqlite/sqlite_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "distlock/error.h"
#include "failure.h"
#include "stores/sqlite/sqlite_file_system.h"
#include "text.h"

namespace distlock {
namespace {

constexpr mode_t kPrivateFile = 0600;
// SQLite has room for 512, and for the names beside the file.
constexpr std::size_t kPathMost = 504;

[[noreturn]] void fail(const std::string& operation, const std::string& path, int error) {
  throw Error(path_failure(error),
              operation + ' ' + in_quotes(path) + ": " + system_failure(error));
}

// Like rename(2), but where something has the name already it fails. 0, or what errno would be.
int rename_to_new(const char* from, const char* to) noexcept {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

// Some file systems know no such rename. A link(2) in its place would give the file two names for a
// moment, or for ever where the process is killed. A file of two names is refused below.
bool knows_no_such_rename(int error) noexcept { return error == EINVAL || error == ENOSYS; }

// Without a descriptor, as make_new_file() says.
int make_under_own_name(const std::string& path) noexcept {
  if (mknod(path.c_str(), S_IFREG | kPrivateFile, 0) != 0) return errno;
  const bool private_now = fchmodat(AT_FDCWD, path.c_str(), kPrivateFile, AT_SYMLINK_NOFOLLOW) == 0;
  return private_now || errno == ENOTSUP ? 0 : errno;
}

// Gives `path` a new file that appears with its mode already right. Closed before: to close a file
// drops every lock that SQLite holds on it for this process, and another thread may open it at
// once.
void make_new_file(const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) fail("make a file beside", path, errno);
  int error = fchmod(file, kPrivateFile) != 0 ? errno : 0;
  close(file);
  if (error == 0) error = rename_to_new(temporary.c_str(), path.c_str());
  unlink(temporary.c_str());
  if (knows_no_such_rename(error)) error = make_under_own_name(path);
  if (error != 0 && error != EEXIST) fail("make the file", path, error);
}

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw Error(Errc::invalid_argument, in_quotes(path) + ' ' + problem);
}

// SQLite names the write-ahead log after the file, so that under two names there are two logs, and
// two holders. (What a symbolic link is called does not matter; SQLite follows it first.)
void refuse_second_names(const std::string& path, nlink_t names) {
  if (names > 1) {
    refuse(path, "has " + std::to_string(names) +
                     " names (hard links), under each of which there would be other locks; remove "
                     "all but one");
  }
  if (is_mounted_by_itself(path)) {
    refuse(path,
           "is mounted by itself, and elsewhere has another name, under which there would be "
           "other locks; mount its folder instead");
  }
}

void check_file(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) {
    refuse(path, "is a folder; name a file in it, as in sqlite:" +
                     escaped((std::filesystem::path(path) / "locks.db").string()));
  }
  if (!S_ISREG(status.st_mode)) refuse(path, "is no file that can be written and read again");
  refuse_second_names(path, status.st_nlink);
  refuse_shared_file_system(path);
}

// A mistyped path gets no folder of its own, in which nobody else would look for locks.
void check_folder(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.parent_path().c_str(), &status) == 0) return;
  refuse(path.string(), "cannot be made: there is no folder " +
                            in_quotes(path.parent_path().string()) +
                            "; make it, or check the path");
}

void make_file(const std::filesystem::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    refuse(path.string(), "is a symbolic link to a file that is not there");
  }
  if (!path.has_filename()) refuse(path.string(), "names a folder, not a file");
  check_folder(path);
  refuse_shared_file_system(path.parent_path().string());
  make_new_file(path.string());
}

// The database's owner and its group may use the file too, if this process may say so.
bool give(int file, const struct stat& of_database) noexcept {
  if (fchown(file, of_database.st_uid, of_database.st_gid) == 0) return true;
  if (errno != EPERM) return false;
  return fchown(file, static_cast<uid_t>(-1), of_database.st_gid) == 0 || errno == EPERM;
}

bool write_new(int file, const char* database, const SideFile& content) noexcept {
  struct stat of_database {};
  if (stat(database, &of_database) != 0) return false;
  if (!give(file, of_database)) return false;
  const auto [mark, mark_at, size] = content;
  return fchmod(file, of_database.st_mode & 0666) == 0 && ftruncate(file, size) == 0 &&
         pwrite(file, mark.data(), mark.size(), mark_at) == static_cast<ssize_t>(mark.size());
}

bool is_all_zero(int file, off_t size) noexcept {
  std::array<char, 4096> bytes{};
  return size <= static_cast<off_t>(bytes.size()) &&
         pread(file, bytes.data(), bytes.size(), 0) == size &&
         std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

// A file that lost its content with the power: the file system's journal had its name and its size,
// and no more. Its sync had failed, or it is an earlier version's.
class LostFile {
 public:
  LostFile(const char* path, off_t size) noexcept
      : file_(open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)),
        path_(path),
        size_(size) {}
  ~LostFile() {
    if (file_ >= 0) close(file_);
  }
  LostFile(const LostFile&) = delete;
  LostFile& operator=(const LostFile&) = delete;

  /// Whether it is one, and still there.
  bool is_there() const noexcept {
    struct stat own {};
    struct stat named {};
    return file_ >= 0 && fstat(file_, &own) == 0 && lstat(path_, &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino && S_ISREG(own.st_mode) &&
           own.st_nlink == 1 && own.st_size == size_ && is_all_zero(file_, size_);
  }

  // Locked meanwhile: of two who come at once one replaces it, and the other does not replace the
  // new one.
  void replace_by(const char* new_file) const noexcept {
    if (file_ >= 0 && flock(file_, LOCK_EX | LOCK_NB) == 0 && is_there()) rename(new_file, path_);
  }

 private:
  const int file_;
  const char* const path_;
  const off_t size_;
};

}  // namespace

int open_log(const std::string& database) {
  const std::string log = database + "-wal";
  const int opened = open(log.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened >= 0) return opened;
  const int error = errno;
  throw Error(Errc::not_applied, "open " + in_quotes(log) + ": " + system_failure(error));
}

void make_side_file(const char* database, const char* path, const SideFile& content) noexcept {
  struct stat status {};
  const bool exists = lstat(path, &status) == 0;
  if (exists && !LostFile(path, content.size).is_there()) return;
  std::array<char, PATH_MAX> temporary{};
  std::snprintf(temporary.data(), temporary.size(), "%s.XXXXXX", path);
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return;
  if (write_new(file, database, content)) {
    fdatasync(file);  // Where it fails, the file serves until the power does.
    if (exists) {
      LostFile(path, content.size).replace_by(temporary.data());
    } else if (knows_no_such_rename(rename_to_new(temporary.data(), path)) &&
               lstat(path, &status) != 0) {
      rename(temporary.data(), path);  // Of two at this very moment one has none, as if removed.
    }
  }
  unlink(temporary.data());
  close(file);
}

std::string make_private_file(const std::string& path) {
  // Also so that no name is special to SQLite, as ":memory:" is.
  std::error_code none;
  const std::filesystem::path absolute = std::filesystem::absolute(path, none);
  if (none) refuse(path, "is no place: the working folder is gone; write the whole path");
  if (absolute.lexically_normal().native().size() > kPathMost) {
    refuse(path, "is too long: SQLite opens a path of " + std::to_string(kPathMost) +
                     " bytes at most, from the root on");
  }
  struct stat status {};
  if (stat(absolute.c_str(), &status) != 0) {
    if (errno != ENOENT) fail("open", absolute.string(), errno);
    make_file(absolute);
    if (stat(absolute.c_str(), &status) != 0) fail("open", absolute.string(), errno);
  }
  check_file(absolute.string(), status);
  return absolute.string();
}

void check_is_there(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0 || errno != ENOENT) return;
  throw Error(Errc::not_applied, "there is no file " + in_quotes(path));
}

}  // namespace distlock
