#include "write_line.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace distlock {

void write_line(int file, std::string line, int patience_ms) {
  line += '\n';
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t done = write(file, left.data(), left.size());
    if (done >= 0) {
      left.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EAGAIN) {
      pollfd waited{.fd = file, .events = POLLOUT, .revents = 0};
      if (poll(&waited, 1, patience_ms) == 0) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace distlock
