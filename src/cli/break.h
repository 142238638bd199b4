#pragma once

#include "cli/arguments.h"
#include "cli/status.h"
#include "cli/streams.h"

namespace distlock::cli {

/// distlock break NAME: shows the hold and for how long its holder may act on, asks, and frees
/// exactly that hold (R3). It knows the hold by its `ts` and, in a last look, by its `when`.
/// Where the lock is free otherwise, it does so with the holds that are left over on members (M1).
/// With --wait it returns when that holder acts no more. Gives 0 if the lock was freed; 1 if nobody
/// has ever claimed it, the answer was no, or the hold has changed in between; 64 if there is
/// nobody to ask.
/// Errors: those of the store; `bad_record` if the document is malformed.
int break_hold(const BreakArguments& arguments, const OpenedStore& opened, const Streams& streams);

}  // namespace distlock::cli
