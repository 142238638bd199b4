#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace distlock {

/// The absolute path of the file that `path` names. If there is none, makes an empty one, mode
/// 0600, whatever the umask.
/// Errors: `invalid_argument` if it names no regular file, a folder that is not there, or a file
/// that other hosts may share.
/// Also if the file has another name: its users there would not meet those here.
/// `permission_denied`, `not_applied`.
std::string make_private_file(const std::string& path);

/// For those that only look. Errors: `not_applied` if there is no such file.
void check_is_there(const std::string& path);

/// Another descriptor of the write-ahead log of `database`, which is there. SQLite has no locks on
/// that file, which a close would end. Errors: `not_applied`.
int open_log(const std::string& database);

/// The content of a new file: all zeros but for `mark`.
struct SideFile {
  std::string_view mark;
  off_t mark_at;
  off_t size;
};
/// Makes a file of ours beside the database, for whoever may use that, if there is none. Also if
/// only zeros of that size are left of it after a power failure. It gets its name when it is whole,
/// and on the disk. If two processes make it at once, both use the first.
void make_side_file(const char* database, const char* path, const SideFile& content) noexcept;

}  // namespace distlock
