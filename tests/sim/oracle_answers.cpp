#include "sim/oracle.h"

// The words that a contender is told of a lock that it did not get.
namespace distlock::sim {

void Oracle::said_busy(const std::string& process, const std::string& name, Time asked,
                       bool fresh) {
  const Time since = fresh ? asked : Time{0};
  if (mirrored_ ? busy_on_a_member_(name, since) : was_busy(name, since)) return;
  violate(process + " was told that " + name + " is busy, which nobody held");
}

bool Oracle::was_busy(const std::string& name, Time since) {
  const auto& versions = history(name).versions;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const bool ended = i + 1 < versions.size() && versions[i + 1].since < since;
    if (!ended && (versions[i].lock.taken || !versions[i].lock.sound)) return true;
  }
  return false;
}

void Oracle::shown(const std::string& name, const LockRecord& other, Time asked, bool fresh) {
  const auto& versions = history(name).versions;
  if (mirrored_) return;
  // A deposed primary showed what it had done alone.
  if (!fresh && other.ts && !other.taken() && undone_.contains(*other.ts)) return;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const bool ended = i + 1 < versions.size() && versions[i + 1].since < asked;
    if (fresh && ended) continue;
    const StoredLock& lock = versions[i].lock;
    const bool absent = !lock.exists && !other.taken() && !other.ts;
    if (absent || (lock.ts == other.ts && lock.taken == other.taken())) return;
  }
  violate("a loser of " + name + " was shown a record that was never true");
}

}  // namespace distlock::sim
