#include "ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace balancer {
namespace {

std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') json += '\\';
    json += static_cast<unsigned char>(character) < ' ' ? ' ' : character;
  }
  return json += '"';
}

}  // namespace

Ledger::Ledger(const std::string& path, std::string process, distlock::Clock& clock)
    : process_(std::move(process)),
      clock_(clock),
      file_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
}

Ledger::~Ledger() { close(file_); }

void Ledger::note(distlock::SteadyTime at, std::string_view event, distlock::Fence fence,
                  std::string_view detail) const {
  const std::string line =
      "{\"at\": " + std::to_string(at.time_since_epoch().count()) +
      ", \"process\": " + quoted(process_) + ", \"pid\": " + std::to_string(getpid()) +
      ", \"event\": " + quoted(event) + ", \"fence\": " + std::to_string(fence) +
      ", \"detail\": " + quoted(detail) + "}\n";
  // A ledger with holes would prove nothing.
  if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::system_error(errno, std::generic_category(), "ledger");
  }
}

void Ledger::note(std::string_view event, distlock::Fence fence, std::string_view detail) const {
  note(clock_.steady_now(), event, fence, detail);
}

}  // namespace balancer
