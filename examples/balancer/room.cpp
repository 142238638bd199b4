#include "room.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace balancer {
namespace {

// Of one length always, since a mark is written over. Positive, as is every time since boot.
std::string text_of(const std::string& who, distlock::SteadyTime until) {
  const std::string digits = std::to_string(until.time_since_epoch().count());
  return who + ' ' + std::string(20 - digits.size(), '0') + digits;
}

// The whole file, by this opening of it: the kernel ends the lock with the process. A lock of the
// process (F_SETLK) would end as soon as the process has read the mark by way of another opening.
struct flock whole() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Entry Room::enter(const std::string& process, distlock::Fence fence, distlock::SteadyTime until) {
  who_ = process + ' ' + std::to_string(fence);
  until_ = until;
  if (make_mark()) return {};

  const Entry entry{Entry::Found::leftover, read_mark()};
  if (may_act(entry.mark)) return {Entry::Found::somebody, entry.mark};
  std::filesystem::remove(path_);
  // Somebody was quicker: then two are in the room all the same.
  if (!make_mark()) return {Entry::Found::somebody, read_mark()};
  return entry;
}

void Room::stay(distlock::SteadyTime until) {
  until_ = until;
  const std::string text = text_of(who_, until_);
  // Through the open file: should the mark have been replaced, this one harms nobody.
  if (mark_ >= 0 && pwrite(mark_, text.data(), text.size(), 0) < 0) {
    throw std::system_error(errno, std::generic_category(), path_.string());
  }
}

// A mark that nobody has locked would be a dead process's.
bool Room::leave() {
  const bool removed = read_mark() == text_of(who_, until_) && std::filesystem::remove(path_);
  close_mark();
  return removed;
}

bool Room::make_mark() {
  close_mark();
  mark_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (mark_ < 0 && errno == EEXIST) return false;
  struct flock lock = whole();
  if (mark_ < 0 || fcntl(mark_, F_OFD_SETLK, &lock) != 0) {
    throw std::system_error(errno, std::generic_category(), path_.string());
  }
  stay(until_);
  return true;
}

std::string Room::read_mark() const {
  std::ifstream file(path_);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Room::may_act(const std::string& mark) const {
  std::istringstream words(mark);
  std::string process, fence;
  std::int64_t until = 0;
  // A mark without a time is just being made.
  if (!(words >> process >> fence >> until)) return true;
  return clock_.steady_now() < distlock::SteadyTime{std::chrono::nanoseconds{until}} && is_locked();
}

// Also if nobody can tell.
bool Room::is_locked() const {
  const int mark = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct flock lock = whole();
  const bool free = mark >= 0 && fcntl(mark, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
  if (mark >= 0) close(mark);
  return !free;
}

void Room::close_mark() {
  if (mark_ >= 0) close(mark_);
  mark_ = -1;
}

}  // namespace balancer
