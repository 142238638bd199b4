#include "original/flaws.h"

namespace distlock::original {
namespace {

struct Described {
  std::string_view name;
  std::string_view about;
};

// In the order of Flaw.
constexpr std::array<Described, kFlaws> kDescribed{{
    {"double_takeover", "two contenders force one dead lock, and the second frees the first's"},
    {"late_unlock", "an unlock comes late and frees the next holder's lock"},
    {"own_late_unlock", "an unlock comes late or twice and frees its own process's next hold"},
    {"fast_clock", "a contender whose clock is ahead takes over from a living holder"},
    {"slow_clock", "a living holder whose clock is behind loses its lock"},
    {"silent_holder", "a holder that was silent for the window works on (nothing is promised)"},
    {"cleanup_wedge", "the cleanup removed the ping of who then took the lock and died"},
    {"no_first_ping", "a process takes the lock before its first ping is there, and dies"},
    {"ping_in_the_future", "the dead holder's clock was ahead: \"clock skew\" for more than a day"},
    {"stuck_claim", "a claim took effect that its process does not know of: it pings on"},
    {"stuck_unlock", "no unlock arrived, and the process pings on"},
}};

}  // namespace

std::string_view name_of(Flaw flaw) { return kDescribed[static_cast<std::size_t>(flaw)].name; }

std::string_view about(Flaw flaw) { return kDescribed[static_cast<std::size_t>(flaw)].about; }

}  // namespace distlock::original
