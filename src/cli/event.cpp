#include "cli/event.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace distlock::cli {

Event::Event() : descriptor_(eventfd(0, EFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Event::~Event() { close(descriptor_); }

void Event::set() const { eventfd_write(descriptor_, 1); }

void Event::clear() const {
  eventfd_t count = 0;
  eventfd_read(descriptor_, &count);
}

}  // namespace distlock::cli
