#include "room.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace balancer {
namespace {

struct ProcessState {
  char state = 'X';  ///< As in /proc/PID/stat; X if there is no such process.
  std::string started;
};

ProcessState look_up(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat.substr(name_end + 1));
  ProcessState process;
  fields >> process.state;
  constexpr int kFieldsFromStateToStart = 19;
  for (int i = 0; i < kFieldsFromStateToStart; ++i) fields >> process.started;
  return process;
}

/// Whether the process that left this mark can do anything at this moment. Process ids are used
/// again; with the time of its start it is sure to be the same one.
bool runs(const std::string& mark) {
  std::istringstream words(mark);
  std::string process, fence, pid, started;
  words >> process >> fence >> pid >> started;
  const ProcessState now = look_up(pid);
  const bool dead = now.state == 'X' || now.state == 'Z' || now.started != started;
  const bool stopped = now.state == 'T' || now.state == 't';
  return !dead && !stopped;
}

}  // namespace

Entry Room::enter(const std::string& process, distlock::Fence fence) {
  const std::string pid = std::to_string(getpid());
  ours_ = process + ' ' + std::to_string(fence) + ' ' + pid + ' ' + look_up(pid).started;
  if (make_mark(ours_)) return {};

  Entry entry{Entry::Found::somebody, read_mark()};
  if (!entry.mark.empty() && !runs(entry.mark)) {
    entry.found = Entry::Found::leftover;
    std::filesystem::remove(mark_);
    // Somebody was quicker: then two are in the room all the same.
    if (!make_mark(ours_)) entry = {Entry::Found::somebody, read_mark()};
  }
  return entry;
}

bool Room::leave() { return read_mark() == ours_ && std::filesystem::remove(mark_); }

bool Room::make_mark(const std::string& text) {
  const int file = open(mark_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0) throw std::system_error(errno, std::generic_category(), mark_.string());
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  if (!written) throw std::system_error(errno, std::generic_category(), mark_.string());
  return true;
}

std::string Room::read_mark() const {
  std::ifstream file(mark_);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace balancer
