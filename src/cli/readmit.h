#pragma once

#include "cli/arguments.h"
#include "cli/status.h"
#include "cli/streams.h"

namespace distlock::cli {

/// distlock readmit NUMBER: shows the members of a mirrored store, asks, and takes one that lost
/// its data back at once (M6). Gives 0 if it counts now; 1 if the answer was no; 64 if there is
/// nobody to ask. Errors: those of Members::readmit(); `invalid_argument` if the store is not
/// mirrored.
int readmit(const ReadmitArguments& arguments, const OpenedStore& opened, const Streams& streams);

}  // namespace distlock::cli
