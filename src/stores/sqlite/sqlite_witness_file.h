#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace distlock {

/// The file of the witnesses, opened by this process. Its locks belong to the open file, and not to
/// the process as fcntl()'s other locks do.
///
/// Threads: one at a time.
class SqliteWitnessFile {
 public:
  static constexpr std::size_t kSize = 4096;

  /// Makes it beside the database, if there is none, or only zeros are left of it.
  static void make(const std::string& database, const std::string& path);

  SqliteWitnessFile(const std::string& path, int access);
  explicit SqliteWitnessFile(int file) : file_(file) {}
  ~SqliteWitnessFile();
  SqliteWitnessFile(SqliteWitnessFile&& other) noexcept;
  SqliteWitnessFile& operator=(SqliteWitnessFile&&) = delete;

  bool is_open() const { return file_ >= 0; }
  int get() const { return file_; }
  int take() noexcept;
  void close();

  /// Which file of all hosts and times it is. Nothing: it is none of ours.
  std::optional<std::string> identity() const;
  bool is_at(const std::string& path) const;

  bool lock(off_t place) const;
  /// For a file that may be open for reading alone.
  bool lock_shared(off_t place) const;
  /// Whether nobody has locked that byte, and it is known.
  bool is_free(off_t place) const;

 private:
  int file_;
};

/// 61 bits: no two processes draw the same. Nothing: there is no randomness to be had.
std::optional<off_t> random_place();
/// The place that these digits spell, or nothing.
std::optional<off_t> place_in(std::string_view digits);

/// Whether a mapping of the file alone keeps a lock in it, as R23 needs. Some file systems map
/// another file: overlayfs maps the one beneath. Tries it. False, too, where that cannot be found
/// out.
bool mapping_keeps_locks(const std::string& path);

}  // namespace distlock
