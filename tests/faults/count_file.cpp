#include "count_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace faults {
namespace {

struct Content {
  distlock::Fence fence = 0;
  std::int64_t value = 0;
};

void check(bool good) {
  if (!good) throw std::system_error(errno, std::generic_category(), "the file that counts");
}

// Nobody else is at the file meanwhile.
class Turn {
 public:
  explicit Turn(int file) : file_(file) { check(flock(file_, LOCK_EX) == 0); }
  ~Turn() { flock(file_, LOCK_UN); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Content content() const {
    Content content;
    const ssize_t size = pread(file_, &content, sizeof content, 0);
    check(size == 0 || size == sizeof content);
    return content;
  }
  // One write, which a kill does not tear.
  void put(const Content& content) const {
    check(pwrite(file_, &content, sizeof content, 0) == sizeof content);
  }

 private:
  int file_;
};

}  // namespace

CountFile::CountFile(const std::string& path)
    : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  check(file_ >= 0);
}

CountFile::~CountFile() { close(file_); }

std::optional<std::int64_t> CountFile::read(distlock::Fence fence) {
  const Turn turn(file_);
  Content content = turn.content();
  if (fence < content.fence) return std::nullopt;
  content.fence = fence;
  turn.put(content);
  return content.value;
}

bool CountFile::write(distlock::Fence fence, std::int64_t value) {
  const Turn turn(file_);
  if (fence < turn.content().fence) return false;
  turn.put({fence, value});
  return true;
}

}  // namespace faults
