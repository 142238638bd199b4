#include "stores/sqlite/sqlite_witness_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "stores/sqlite/sqlite_file.h"

namespace distlock {
namespace {

constexpr std::string_view kFileMark = "distlock witness 1\n";
// Behind it, of random digits: a file that another machine or time had here has others.
constexpr std::size_t kNameSize = 32;
constexpr std::string_view kHexDigits = "0123456789abcdef";

struct flock lock_of(off_t place, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

// Empty: there is no randomness to be had.
std::string random_digits() {
  std::array<unsigned char, kNameSize / 2> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string name;
  for (const unsigned char byte : bytes) {
    name += kHexDigits[byte >> 4U];
    name += kHexDigits[byte & 0xfU];
  }
  return name;
}

// The end of a trial lock that a mapping alone keeps.
enum class Trial { kept, lost, unclear };

// Nothing is opened for writing: the end of that would be told to all waiters as the end of a
// witness. A child that another thread forks in the middle keeps the lock as well: then it is still
// there when the mapping has gone, and nothing is known.
Trial try_mapping(const std::string& path) {
  SqliteWitnessFile locked(path, O_RDONLY);
  const SqliteWitnessFile looking(path, O_RDONLY);
  const auto identity = locked.identity();
  const auto place = random_place();
  if (!identity || identity != looking.identity() || !place || !locked.lock_shared(*place)) {
    return Trial::unclear;
  }
  void* mapping = mmap(nullptr, SqliteWitnessFile::kSize, PROT_NONE, MAP_SHARED, locked.get(), 0);
  if (mapping == MAP_FAILED) return Trial::unclear;
  locked.close();
  const bool kept = !looking.is_free(*place);
  munmap(mapping, SqliteWitnessFile::kSize);
  if (!kept) return Trial::lost;
  return looking.is_free(*place) ? Trial::kept : Trial::unclear;
}

}  // namespace

void SqliteWitnessFile::make(const std::string& database, const std::string& path) {
  const std::string name = random_digits();
  if (name.empty()) return;
  const std::string content = std::string(kFileMark) + name;
  make_side_file(database.c_str(), path.c_str(), {content, 0, kSize});
}

SqliteWitnessFile::SqliteWitnessFile(const std::string& path, int access)
    : file_(::open(path.c_str(), access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)) {}

SqliteWitnessFile::~SqliteWitnessFile() { close(); }

SqliteWitnessFile::SqliteWitnessFile(SqliteWitnessFile&& other) noexcept : file_(other.take()) {}

int SqliteWitnessFile::take() noexcept { return std::exchange(file_, -1); }

void SqliteWitnessFile::close() {
  if (file_ >= 0) ::close(take());
}

std::optional<std::string> SqliteWitnessFile::identity() const {
  struct stat status {};
  if (!is_open() || fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string content(kFileMark.size() + kNameSize, '\0');
  const ssize_t got = pread(file_, content.data(), content.size(), 0);
  const std::string_view name = std::string_view(content).substr(kFileMark.size());
  if (got != static_cast<ssize_t>(content.size()) || !content.starts_with(kFileMark) ||
      name.find_first_not_of(kHexDigits) != name.npos) {
    return std::nullopt;
  }
  return std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino) + ':' +
         std::string(name);
}

bool SqliteWitnessFile::is_at(const std::string& path) const {
  struct stat open_one {};
  struct stat at_path {};
  return fstat(file_, &open_one) == 0 && lstat(path.c_str(), &at_path) == 0 &&
         open_one.st_dev == at_path.st_dev && open_one.st_ino == at_path.st_ino;
}

bool SqliteWitnessFile::lock(off_t place) const {
  struct flock lock = lock_of(place, F_WRLCK);
  return fcntl(file_, F_OFD_SETLK, &lock) == 0;
}

bool SqliteWitnessFile::lock_shared(off_t place) const {
  struct flock lock = lock_of(place, F_RDLCK);
  return fcntl(file_, F_OFD_SETLK, &lock) == 0;
}

bool SqliteWitnessFile::is_free(off_t place) const {
  struct flock lock = lock_of(place, F_WRLCK);
  return fcntl(file_, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

std::optional<off_t> random_place() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return std::nullopt;
  return static_cast<off_t>(number >> 3U);
}

std::optional<off_t> place_in(std::string_view digits) {
  off_t place = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place);
  if (error != std::errc{} || rest != digits.data() + digits.size() || place < 0) {
    return std::nullopt;
  }
  return place;
}

// Twice, since such a child may have come and gone between two looks.
bool mapping_keeps_locks(const std::string& path) {
  constexpr int kTrialsMost = 8;
  constexpr int kKeptLeast = 2;
  int kept = 0;
  for (int trial = 0; trial < kTrialsMost && kept < kKeptLeast; ++trial) {
    const Trial end = try_mapping(path);
    if (end == Trial::lost) return false;
    kept += end == Trial::kept ? 1 : 0;
  }
  return kept == kKeptLeast;
}

}  // namespace distlock
