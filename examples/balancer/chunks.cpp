#include "chunks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace balancer {
namespace {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free, "shared by processes, so there must be no lock in it");

constexpr int kCountBits = 32;

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw std::system_error(errno, std::generic_category(), path.string());
}

}  // namespace

Chunks::Chunks(const std::filesystem::path& folder) {
  const auto path = folder / "chunks";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(Word)) != 0) fail(path);
  void* word = mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (word == MAP_FAILED) fail(path);
  close(file);
  fence_and_count_ = static_cast<Word*>(word);
}

Chunks::~Chunks() { munmap(fence_and_count_, sizeof(Word)); }

bool Chunks::move_one(distlock::Fence fence) {
  const auto ours = static_cast<std::uint64_t>(fence) << kCountBits;
  std::uint64_t seen = fence_and_count_->load();
  std::uint64_t moved = 0;
  do {
    if (ours >> kCountBits < seen >> kCountBits) return false;
    const std::uint64_t count = seen & ((std::uint64_t{1} << kCountBits) - 1);
    moved = ours | (count + 1);
  } while (!fence_and_count_->compare_exchange_weak(seen, moved));
  return true;
}

}  // namespace balancer
