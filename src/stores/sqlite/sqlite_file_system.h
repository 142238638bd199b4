#pragma once

#include <string>

namespace distlock {

/// The name of a file system that several hosts may have at once, by the number that statfs(2)
/// tells; null for all others. Hosts share no memory, which the write-ahead log needs, and their
/// locks on files are not to be relied on: two of them would hold one lock.
const char* shared_file_system(unsigned long magic);

/// Errors: `invalid_argument` if `path`, a file or folder, is on such a file system.
void refuse_shared_file_system(const std::string& path);

/// Whether the file is a mount of its own, as of one file into a container. Linux tells it from 5.8
/// on; before that, false.
bool is_mounted_by_itself(const std::string& path);

}  // namespace distlock
