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
    {"two_winners", "two claims are each the greatest ts when their owner reads, and both win"},
    {"late_propagation", "a winner writes its claim everywhere so late that another one holds"},
    {"propagation_of_free", "a late winner takes a lock that others have had and released"},
    {"server_away", "one server is away, no ping gets through, and a living holder is forced"},
    {"lost_release", "a release came to some servers only, and its process pings on"},
    {"emptied_server", "a server restarts without its data, and gives a lock to a second"},
    {"server_clock", "a server's clock is set ahead, and a key expires too early"},
    {"own_clock", "a holder's clock is set back, and its validity outlives its keys"},
    {"pause_after_majority", "a holder stands still before it writes, and writes beside the next"},
}};

}  // namespace

std::string_view name_of(Flaw flaw) { return kDescribed[static_cast<std::size_t>(flaw)].name; }

std::string_view about(Flaw flaw) { return kDescribed[static_cast<std::size_t>(flaw)].about; }

bool may_show(Algorithm algorithm, Flaw flaw) {
  if (algorithm == Algorithm::original) return flaw < Flaw::two_winners;
  if (algorithm == Algorithm::redlock) return flaw >= Flaw::emptied_server;
  const bool of_single_pings = flaw >= Flaw::cleanup_wedge && flaw <= Flaw::ping_in_the_future;
  return flaw < Flaw::emptied_server && !of_single_pings;
}

}  // namespace distlock::original
