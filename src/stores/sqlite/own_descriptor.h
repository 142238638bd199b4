#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>

namespace distlock {

/// A descriptor that the program may close behind our back, as one that closes all does. Its number
/// may be another file's then, and is left alone.
class OwnDescriptor {
 public:
  /// `number` may be none: -1.
  explicit OwnDescriptor(int number) : number_(number), file_(file_of(number)) {}
  /// Closes it, if it is there.
  ~OwnDescriptor();
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;

  int number() const { return number_; }
  /// Whether the number is still of that file. One inotify instance cannot be told from another.
  /// Once it was another's it is not ours any more, whatever it is of later.
  bool is_there() const {
    if (number_ < 0 || file_ != file_of(number_)) lost_ = true;
    return !lost_;
  }

 private:
  /// All of the kernel's nameless files, as those of eventfd(2), have one inode: their names say of
  /// which kind they are.
  struct File {
    bool operator==(const File&) const = default;

    dev_t device = 0;
    ino_t inode = 0;
    std::array<char, 128> name{};
  };

  static File file_of(int number);

  const int number_;
  const File file_;
  mutable std::atomic<bool> lost_ = false;
};

}  // namespace distlock
