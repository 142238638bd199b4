#pragma once

namespace distlock::cli {

/// Puts something at each of the descriptors 0 to 2 that is closed. So no file, pipe or connection
/// of ours gets such a number, and with it all that is meant for a standard stream. Reading and
/// writing fail as before, and a command finds the streams closed as they were.
///
/// To be called before anything is opened.
/// Errors: std::system_error if the process may have no such descriptor.
void fill_closed_streams();

}  // namespace distlock::cli
