#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "distlock/line.h"
#include "distlock/record.h"

// Decides whose turn it is (R17): pure, and the same for every store and for waiters. A store that
// decides in a language of its own, as MongoDB does, decides the same.
//
// A free lock is for the first in line. A waiter that is not there at its turn is passed over. From
// one turn after the release on the next two may claim as well, after another turn the next four,
// and so on. So many dead in front cost a few turns together, and not a turn each. A claim marks
// the waiters that it passes over. A mark takes nobody out of the line: marked ones may claim at
// once, and are not waited for. While a line has marks turns are shorter, since more of its waiters
// may be gone: so many dead here and there cost little as well.
namespace distlock::line {

/// How long the lock waits for those whose turn it is, in a line without marks.
inline constexpr std::chrono::milliseconds kTurn{100};
/// So many turns are in this time at most: two with one mark in the line, three with more.
inline constexpr int kTurnsMost = 3;
/// A marked place that nobody has come back to for so long is removed by the next claim.
inline constexpr std::chrono::minutes kMarkedMost{1};
/// A request may reach the lock so long after the store has read its clock for it. If the lock was
/// freed in between, it has been free for no time.
inline constexpr std::chrono::seconds kOnItsWayMost{10};
/// The places of a line. A waiter that finds it full looks again later.
inline constexpr std::size_t kPlacesMost = 1000;

/// How many turns of this line are in kTurn.
int pace_of(const std::vector<Waiter>& line);

/// How many of those not marked may claim, the lock having been free for so long.
std::uint64_t open_places(std::chrono::milliseconds free_for, int pace = 1);

/// How long the lock must have been free for the place with this number to be open; the first is 0.
std::chrono::milliseconds opens_after(std::uint64_t place, int pace = 1);

/// The number of the ticket's place among those not marked: 0 for a marked one, and the number of
/// all for a ticket that is not in line, since a newcomer is the last.
std::uint64_t place_of(const Token& ticket, const std::vector<Waiter>& line);

/// Whether `ticket` may claim the lock, which is free, now. Without `freed_at`, as after a release
/// by a program that knows no line, everybody may.
bool may_claim(const Token& ticket, const std::vector<Waiter>& line,
               std::optional<StoreTime> freed_at, StoreTime now);

/// The line after a claim by `ticket`: without it, and with those marked that stood in front.
std::vector<Waiter> after_claim(const Token& ticket, std::vector<Waiter> line, StoreTime now);

/// The ticket's place, or the end.
std::vector<Waiter>::const_iterator find(const Token& ticket, const std::vector<Waiter>& line);
bool stands(const Token& ticket, const std::vector<Waiter>& line);
/// Stands there, and is not marked.
bool waits(const Token& ticket, const std::vector<Waiter>& line);

/// The line after a claim by `waiter` was refused: with a place for it at the end, unless it has
/// one or the line is full; and without its mark, for it is there.
std::vector<Waiter> after_refusal(const Waiter& waiter, std::vector<Waiter> line);

/// The line after that ticket has left, by a takeover or for good.
std::vector<Waiter> without(const Token& ticket, std::vector<Waiter> line);

/// How long the lock must have been free for a ring to go to the place with this number. Places
/// that open together are rung one after the other within the turn, so that the first of them who
/// is there comes first.
std::chrono::milliseconds rings_after(std::uint64_t place, int pace = 1);
/// The same for the ticket's place.
std::chrono::milliseconds rings_after(const Token& ticket, const std::vector<Waiter>& line);

/// How long from now on until the ticket's place is rung for; negative: so long ago.
std::chrono::milliseconds turn_in(const Token& ticket, const std::vector<Waiter>& line,
                                  StoreTime freed_at, StoreTime now);

/// Whom to ring for a free lock, by process.
struct Turns {
  /// The processes of all marked places, and of the others up to now, each once, in order.
  std::vector<std::string> now;
  std::string then;                      ///< The process of the next place; empty: there is none.
  std::chrono::milliseconds then_in{0};  ///< It is rung so long from now.
};
Turns turns_in(const std::vector<Waiter>& line, StoreTime freed_at, StoreTime now);

/// The answer to a release that has freed a lock with this line.
Freed freed(const std::vector<Waiter>& line);

}  // namespace distlock::line
