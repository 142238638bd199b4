#pragma once

#include <string>

namespace distlock {

/// The absolute path of the file that `path` names. If there is none, makes an empty one, mode
/// 0600, whatever the umask.
/// Errors: `invalid_argument` if it names no regular file, a folder that is not there, or a file
/// that other hosts may share.
/// Also if the file has another name: its users there would not meet those here.
/// `permission_denied`, `not_applied`.
std::string make_private_file(const std::string& path);

/// Like rename(2), but where something has the name already it fails. Never a second name, as with
/// link(2). 0, or what errno would be. File systems that know no such rename get a link.
int rename_to_new(const char* from, const char* to) noexcept;

}  // namespace distlock
