#include "stores/sqlite/sqlite_witness.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/thread/lock_guard.hpp>
#include <new>
#include <utility>

#include "log.h"
#include "processes.h"
#include "stores/sqlite/sqlite_witness_file.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;
using File = SqliteWitnessFile;

constexpr int kAttemptsMax = 8;
// Out of the way of the numbers that scripts use.
constexpr int kDescriptorLeast = 100;
// At the end of a statement.
constexpr std::string_view kTokens = "+token";

// Empty: the kernel does not tell.
std::string host_of(const std::string& boot) {
  const std::string name_space = pid_namespace();
  return name_space.empty() ? std::string() : boot + name_space + '/';
}

}  // namespace

SqliteWitness::SqliteWitness(const std::string& database, const std::string& boot, WitnessRule rule)
    : database_(database),
      path_(database + "-witness"),
      host_(host_of(boot)),
      rule_(host_.empty() ? WitnessRule::none : rule) {}

// A hold may be left, which somebody may still act for. So the mappings stay.
SqliteWitness::~SqliteWitness() {
  for (const auto& [process, kept] : kept_) close(kept);
}

// A lock that is no longer there is stated no more, whatever has ended it.
std::optional<std::string> SqliteWitness::statement_of(std::string_view process) {
  if (rule_ == WitnessRule::none) return std::nullopt;
  const Guard lock(mutex_);
  auto known = kept_.find(process);
  if (known == kept_.end()) {
    known = kept_.emplace(process, Kept{}).first;
    known->second = locked_byte();
    const bool none = !known->second.statement && mapping_keeps_locks_ != false;
    if (none && !std::exchange(said_, true)) log::no_witness(path_);
  }
  const auto& statement = known->second.statement;
  return statement && !has_ended(*statement) ? statement : std::nullopt;
}

// Whether it keeps locks at all is found out once.
bool SqliteWitness::is_fit() {
  if (!mapping_keeps_locks_) mapping_keeps_locks_ = mapping_keeps_locks(path_);
  return *mapping_keeps_locks_;
}

// Two processes may make the file at once, and people may remove it.
SqliteWitness::Kept SqliteWitness::locked_byte() {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    File file(path_, O_RDWR);
    const auto identity = file.identity();
    if (!identity) {
      File::make(database_, path_);
      continue;
    }
    if (!is_fit()) return {};
    const auto place = random_place();
    if (!place || !file.lock(*place) || !file.is_at(path_)) continue;
    std::string statement = host_ + *identity + '/' + std::to_string(*place);
    if (rule_ == WitnessRule::command) statement += kTokens;
    return inherited(file.take(), std::move(statement));
  }
  return {};
}

// Gives the lock to a mapping, and to the descriptor only if other programs are to keep it too.
SqliteWitness::Kept SqliteWitness::inherited(int file, std::string statement) const {
  void* mapping = mmap(nullptr, File::kSize, PROT_NONE, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) {
    ::close(file);
    return {};
  }
  Kept kept{std::move(statement), file, mapping};
  if (rule_ == WitnessRule::process) {
    madvise(mapping, File::kSize, MADV_DONTFORK);
    ::close(std::exchange(kept.file, -1));
    return kept;
  }
  const int higher = fcntl(kept.file, F_DUPFD, kDescriptorLeast);
  if (higher >= 0) {
    ::close(std::exchange(kept.file, higher));
  } else {
    fcntl(kept.file, F_SETFD, 0);
  }
  return kept;
}

// The program may have closed the descriptor, and its number may be another file's by now.
bool SqliteWitness::has_descriptor(const Kept& kept) noexcept {
  if (kept.file < 0 || !kept.statement) return false;
  File file(kept.file);
  bool ours = false;
  try {
    const auto identity = file.identity();
    ours = identity && kept.statement->find(*identity + '/') != std::string::npos;
  } catch (const std::bad_alloc&) {
    // Better one that stays open than another file's that is closed.
  }
  file.take();
  return ours;
}

void SqliteWitness::close(const Kept& kept) noexcept {
  if (has_descriptor(kept)) ::close(kept.file);
}

void SqliteWitness::let_go(const Kept& kept) {
  close(kept);
  if (kept.mapping != nullptr) munmap(kept.mapping, File::kSize);
}

int SqliteWitness::share(std::string_view process) {
  const Guard lock(mutex_);
  const auto known = kept_.find(process);
  if (known == kept_.end() || !has_descriptor(known->second)) return -1;
  return fcntl(known->second.file, F_DUPFD_CLOEXEC, 0);
}

void SqliteWitness::give_up(std::string_view process) {
  const Guard lock(mutex_);
  const auto known = kept_.find(process);
  if (known == kept_.end()) return;
  let_go(known->second);
  kept_.erase(known);
}

bool SqliteWitness::counts_tokens(std::string_view statement) {
  return statement.ends_with(kTokens);
}

bool SqliteWitness::has_ended(std::string_view statement) const {
  if (rule_ == WitnessRule::none || !statement.starts_with(host_)) return false;
  const File file(path_, O_RDONLY);
  const auto identity = file.identity();
  const std::string known = host_ + identity.value_or("") + '/';
  if (!identity || !statement.starts_with(known)) return false;
  if (counts_tokens(statement)) statement.remove_suffix(kTokens.size());
  const auto place = place_in(statement.substr(known.size()));
  return place && file.is_free(*place);
}

}  // namespace distlock
