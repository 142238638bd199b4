#pragma once

#include <string>

namespace distlock {

/// The absolute path of the file that `path` names. If there is none, makes an empty one, mode
/// 0600, and its folders, mode 0700, whatever the umask.
/// Errors: `invalid_argument` if it names no regular file, one that has other names too, under
/// which nobody would meet those who use this one, or one that other hosts may share;
/// `permission_denied`, `not_applied`.
std::string make_private_file(const std::string& path);

}  // namespace distlock
