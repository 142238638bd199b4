#include "stores/sqlite/sqlite_page.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <utility>

#include "stores/sqlite/sqlite_file.h"

namespace distlock {
namespace {

constexpr off_t kMarkAt = 64;

long futex(void* word, int operation, std::uint32_t value, const timespec* time,
           void* other = nullptr, std::uint32_t more = 0) {
  return syscall(SYS_futex, word, operation, value, time, other, more);
}

// Of the whole file, against others that call this. It is no flock, as the gate's is.
bool lock_for_removal(int file) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

SqlitePage::SqlitePage(std::string database, std::string_view suffix, std::string_view mark)
    : database_(std::move(database)),
      path_(database_ + std::string(suffix)),
      log_path_(database_ + "-wal"),
      mark_(mark.substr(0, kMarkSize)) {}

SqlitePage::~SqlitePage() {
  if (log_is_gone() && open()) remove();
  close();
  if (page_ != nullptr) munmap(page_, kSize);
}

// SQLite removes its log when the last one closes the database.
bool SqlitePage::log_is_gone() const noexcept {
  return access(log_path_.c_str(), F_OK) != 0 && errno == ENOENT;
}

// Locked: of two that remove it at once, the second would remove the file that a newcomer makes in
// between. A newcomer may also have opened the database and this file since the look at the log. It
// is woken, and sees that the file is gone.
void SqlitePage::remove() const noexcept {
  if (!lock_for_removal(file()) || is_removed() || unlink(path_.c_str()) != 0) return;
  if (log_is_gone()) return;
  constexpr std::size_t kWords = kSize / sizeof(std::uint32_t);
  for (std::size_t word = kFirstWord; word < kWords; ++word) ring(word, INT_MAX);
}

bool SqlitePage::is_removed() const noexcept {
  struct stat status {};
  return fstat(file(), &status) == 0 && status.st_nlink == 0;
}

bool SqlitePage::open() {
  close();
  file_.emplace(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  const bool sound = fstat(file(), &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_nlink == 1 && status.st_size == kSize;
  if (sound && map(status.st_dev, status.st_ino)) return true;
  close();
  return false;
}

bool SqlitePage::map(dev_t device, ino_t number) {
  if (page_ != nullptr && device == device_ && number == number_) return true;
  if (page_ != nullptr) munmap(std::exchange(page_, nullptr), kSize);
  if (!is_marked()) return false;
  void* page = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file(), 0);
  if (page == MAP_FAILED) return false;
  page_ = page;
  ++files_;
  device_ = device;
  number_ = number;
  return true;
}

bool SqlitePage::is_marked() const {
  std::array<char, kMarkSize> mark{};
  const auto size = static_cast<ssize_t>(mark_.size());
  return pread(file(), mark.data(), mark_.size(), kMarkAt) == size &&
         std::string_view(mark.data(), mark_.size()) == mark_;
}

void SqlitePage::close() noexcept { file_.reset(); }

void SqlitePage::make() const noexcept {
  make_side_file(database_.c_str(), path_.c_str(), {mark_, kMarkAt, kSize});
}

std::uint32_t SqlitePage::word(std::size_t index) const {
  std::uint32_t word = 0;
  const auto at = static_cast<off_t>(index * sizeof word);
  return pread(file(), &word, sizeof word, at) == sizeof word ? word : 0;
}

SqlitePage::Words SqlitePage::words() const {
  Words words{};
  if (pread(file(), words.data(), sizeof words, 0) != sizeof words) words.fill(0);
  return words;
}

bool SqlitePage::wait(std::size_t index, std::uint32_t heard,
                      std::chrono::milliseconds time) const {
  const timespec limit{.tv_sec = time.count() / 1000, .tv_nsec = time.count() % 1000 * 1'000'000};
  if (futex(at(index), FUTEX_WAIT, heard, &limit) == 0) return true;
  return errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;
}

int SqlitePage::ring(std::size_t index, int sleepers) const noexcept {
  constexpr std::uint32_t kAddOne = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_LT, 0);
  const long woken = futex(at(index), FUTEX_WAKE_OP, static_cast<std::uint32_t>(sleepers), nullptr,
                           at(index), kAddOne);
  return woken > 0 ? static_cast<int>(woken) : 0;
}

}  // namespace distlock
