#include "stores/sqlite/sqlite_gate.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <string_view>

#include "stores/sqlite/sqlite_clock.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kSize = 4096;
// The bell is the first word. Behind it stands whose file this is, so that no other is written to.
constexpr off_t kMarkAt = 64;
constexpr std::string_view kMark = "distlock gate 1\n";
constexpr milliseconds kLookAgain{10};
// So many writes of one process for each time that it lets the others come first. To change after
// each costs a tenth of what all write together, and this a twentieth.
constexpr int kInARow = 4;
// How much longer than it was waited for a gate is ignored that lets nobody in.
constexpr int kIgnoredFor = 10;

long futex(void* word, int operation, std::uint32_t value, const timespec* time,
           void* other = nullptr, std::uint32_t more = 0) {
  return syscall(SYS_futex, word, operation, value, time, other, more);
}

bool is_marked(int file) {
  std::array<char, kMark.size()> mark{};
  return pread(file, mark.data(), mark.size(), kMarkAt) == static_cast<ssize_t>(mark.size()) &&
         std::string_view(mark.data(), mark.size()) == kMark;
}

bool write_new(int file, const struct stat& database) {
  // Others of its group may use the database: they may use the gate, if this one may say so.
  if (fchown(file, static_cast<uid_t>(-1), database.st_gid) != 0 && errno != EPERM) return false;
  return fchmod(file, database.st_mode & 0666) == 0 && ftruncate(file, kSize) == 0 &&
         pwrite(file, kMark.data(), kMark.size(), kMarkAt) == static_cast<ssize_t>(kMark.size());
}

}  // namespace

SqliteGate::SqliteGate(const std::string& database)
    : database_(database), path_(database + "-gate") {}

SqliteGate::~SqliteGate() {
  // SQLite removes its log when the last one closes the database.
  const bool log_is_gone = access((database_ + "-wal").c_str(), F_OK) != 0 && errno == ENOENT;
  if (log_is_gone && open_file()) unlink(path_.c_str());
  close_file();
  unmap();
}

bool SqliteGate::enter(milliseconds give_up_at) {
  const milliseconds began = since_boot();
  if (ignored_until_ && began < *ignored_until_) return false;
  ignored_until_.reset();
  if (!open_file()) return false;
  bool look = !others_first_;
  others_first_ = false;
  for (milliseconds now = began; now < give_up_at; now = since_boot()) {
    // Before the look, so that a ring between the two is not slept through.
    const std::uint32_t heard = bell();
    if (look && flock(file_, LOCK_EX | LOCK_NB) == 0) return true;
    look = true;
    wait_for_bell(heard, std::min(kLookAgain, give_up_at - now));
  }
  // A ring that was meant for this one is the next one's.
  ring();
  close_file();
  ignored_until_ = give_up_at + kIgnoredFor * (give_up_at - began);
  return false;
}

void SqliteGate::leave() noexcept {
  if (file_ < 0) return;
  flock(file_, LOCK_UN);
  others_first_ = ring() > 0 && ++in_a_row_ == kInARow;
  if (others_first_) in_a_row_ = 0;
  close_file();
}

void SqliteGate::make() const noexcept {
  struct stat database {};
  if (stat(database_.c_str(), &database) != 0) return;
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  if (!write_new(file, database)) unlink(path_.c_str());
  close(file);
}

// Anew each time: so a file that was removed or replaced is noticed, and a child of fork() keeps
// nobody out, unless it was forked in the middle of a write.
bool SqliteGate::open_file() {
  file_ = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file_ < 0) return false;
  struct stat status {};
  const bool sound = fstat(file_, &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_nlink == 1 && status.st_size == kSize;
  if (sound && map_file(status.st_dev, status.st_ino)) return true;
  close_file();
  return false;
}

bool SqliteGate::map_file(dev_t device, ino_t number) {
  if (page_ != nullptr && device == device_ && number == number_) return true;
  unmap();
  if (!is_marked(file_)) return false;
  void* page = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (page == MAP_FAILED) return false;
  page_ = page;
  device_ = device;
  number_ = number;
  return true;
}

void SqliteGate::close_file() noexcept {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

void SqliteGate::unmap() noexcept {
  if (page_ != nullptr) munmap(page_, kSize);
  page_ = nullptr;
}

std::uint32_t SqliteGate::bell() const {
  std::uint32_t word = 0;
  return pread(file_, &word, sizeof word, 0) == sizeof word ? word : 0;
}

void SqliteGate::wait_for_bell(std::uint32_t heard, milliseconds left) const {
  const timespec time{.tv_sec = left.count() / 1000, .tv_nsec = left.count() % 1000 * 1'000'000};
  if (futex(page_, FUTEX_WAIT, heard, &time) == 0) return;
  // As of a page that the file has no more.
  if (errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR) nap(std::chrono::microseconds{500});
}

// How many were woken: the one that has slept for longest, if any.
int SqliteGate::ring() const noexcept {
  constexpr std::uint32_t kAddOne = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_LT, 0);
  const long woken = futex(page_, FUTEX_WAKE_OP, 1, nullptr, page_, kAddOne);
  return woken > 0 ? static_cast<int>(woken) : 0;
}

}  // namespace distlock
