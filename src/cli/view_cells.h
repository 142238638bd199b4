#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/holder.h"
#include "cli/table.h"
#include "cli/view.h"

// The texts of a view's cells.
namespace distlock::cli {

const char* state_text(LockState state);

/// Without the milliseconds if it is longer than a second.
std::string rounded_text(std::chrono::milliseconds duration);

std::string age_text(StoreTime then, StoreTime now);

/// How long a wait has lasted, or ago it was passed over: nothing if that lies in the future, as a
/// document may say.
std::chrono::milliseconds time_since(StoreTime then, StoreTime now);

/// When a hold began, and how long ago.
std::string since_text(const LockRecord& lock, const std::optional<StoreNow>& now);

/// `1st`, `2nd`: a place in line, the first of which is 0.
std::string place_text(std::size_t place);

/// A waiter in words: its place, what it is, how long it has waited.
std::string waiter_in_words(const LockRecord& lock, std::size_t place, const StoreNow& now);

/// `ann@db7`, as far as it is known.
std::string holder_text(const Holder& holder);

/// The same with the process's number.
std::string holder_in_words(const LockRecord& lock);

Cell ping_cell(const LockView& lock, const StoreNow& now, bool verbose);
/// The words that a reader needs: with `verbose` also what holds for the holder's own window.
Cell takeover_cell(const LockView& lock, bool verbose);

}  // namespace distlock::cli
