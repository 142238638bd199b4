// How long from one time to another? Compiles only if one clock gave both (R4).

#include "distlock/clock.h"
#include "distlock/record.h"

auto elapsed(distlock::FROM from, distlock::TO to) { return to - from; }
