#include "stores/sqlite/own_descriptor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace distlock {

OwnDescriptor::~OwnDescriptor() {
  if (is_there()) close(number_);
}

// Where /proc is not mounted, all names are empty.
OwnDescriptor::File OwnDescriptor::file_of(int number) {
  File file;
  struct stat status {};
  if (number < 0 || fstat(number, &status) != 0) return file;
  file.device = status.st_dev;
  file.inode = status.st_ino;
  if (S_ISREG(status.st_mode)) return file;  // Its number says it all, and the link is dear.
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", number);
  if (readlink(link.data(), file.name.data(), file.name.size()) < 0) file.name = {};
  return file;
}

}  // namespace distlock
