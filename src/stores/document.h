#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "distlock/error.h"
#include "distlock/record.h"
#include "distlock/store.h"

// The wing src/stores/: the port Store on each engine, a room each. An engine reads documents and
// writes them in one step; their shape is judged here, and all else in protocol/.
namespace distlock {

/// A value of a type that no field of ours has; `type` names it for the message.
struct Foreign {
  std::string type;

  friend auto operator<=>(const Foreign&, const Foreign&) = default;
};

/// One field's value as a store keeps it, before anybody has judged it.
using Value = std::variant<std::int32_t, std::int64_t, double, std::string, StoreTime, Token,
                           std::vector<Waiter>, Foreign>;

/// A stored document as an engine hands it over: fields in order, also those that are not ours.
/// Every store reads into this and judges with the functions below, so that a malformed document
/// gets the same answer everywhere (R14).
using Document = std::vector<std::pair<std::string, Value>>;

inline constexpr std::string_view kLocks = "locks";
inline constexpr std::string_view kLockPings = "lockpings";

/// The first field of that name, or null. Valid as long as the document.
const Value* find_field(const Document& document, std::string_view name);
/// The same, null also where the value is of another type.
template <class Type>
const Type* field_as(const Document& document, std::string_view name) {
  const Value* value = find_field(document, name);
  return value == nullptr ? nullptr : std::get_if<Type>(value);
}
/// Sets the field where it is, or adds it at the end.
void set_field(Document& document, std::string_view name, Value value);

/// The state that a field `state` stands for: 0, 1 or 2 as a number of any type. Otherwise nothing.
std::optional<LockState> state_of(const Value& value);
/// The same of a whole document.
std::optional<LockState> state_in(const Document& lock);
/// The state of a lock that has to be free or taken (R14). Errors: `bad_record`.
LockState required_state(const Document& lock);

/// Whether the document's `ts` is this one.
bool carries(const Document& lock, const Token& ts);
/// The line of a document of `locks`; empty also where it is malformed.
std::vector<Waiter> line_of(const Document& lock);
/// Whether the lock, which is free, may be claimed with this ticket now (R17). A malformed line
/// tells no turns (R14).
bool is_turn(const Document& lock, const Token& ticket, StoreTime now);

/// The hold that a document of `locks` carries, malformed or not. A field that is there twice says
/// nothing.
Carried carried_in(const Document& lock);

/// The record that a document of `locks` holds.
/// Errors: `bad_record`, naming collection, `_id` and field: a documented field of a wrong type, a
/// state outside 0..2, a missing field of a taken lock, a negative fence or takeover_after.
LockRecord lock_from(const Document& document);

/// The record that a document of `lockpings` holds. Errors: as above.
PingRecord ping_from(const Document& document);

/// Says of `error`, thrown by one of the two above, that the document was written all the same.
[[noreturn]] void throw_written_malformed(const Error& error);

/// The record that `judge`, one of the two, makes of the document that a write of ours has just
/// left.
/// Errors: `outcome_unknown` where it is malformed, for the write took effect.
template <class Record>
Record written(const Document& document, Record (*judge)(const Document&)) {
  try {
    return judge(document);
  } catch (const Error& error) {
    throw_written_malformed(error);
  }
}

/// The longest text of a document that is read. Far more than any client of ours writes, and little
/// enough to hold a listing of it in memory.
inline constexpr std::size_t kTextBytesMost = 65536;

/// How a process's pings have fared, as fields of its ping's document.
std::array<std::pair<std::string_view, std::int64_t>, 4> fields_of(const PingHealth& health);

/// The greatest first fence of a claim for so many. The greatest fence there is cannot grow, so
/// that nobody is ever given it (R10).
constexpr Fence first_fence_most(Fence fences) { return kFenceLimit - fences; }
/// The last fence of a claim that begins with `first`, or nothing where there is no room for all.
constexpr std::optional<Fence> last_of_block(Fence first, Fence fences) {
  return first <= first_fence_most(fences) ? std::optional(first + (fences - 1)) : std::nullopt;
}
/// Errors: `invalid_argument` if the claim is for less than one fence.
void check_fences(const Claim& claim);
/// Whether the stored fence may be that of the claim (M9). A renewal is of the very hold that it
/// starts from; a repair is of a hold that a majority carries, and starts from a free document.
inline bool may_keep_fence(const ClaimBasis& basis, const Claim& claim) {
  if (const auto* hold = std::get_if<FromHold>(&basis)) return hold->ts == claim.ts;
  const auto* free = std::get_if<FromFree>(&basis);
  return free != nullptr && claim.repairs && free->ts && *free->ts != claim.ts;
}
/// Of a lock that a claim has its turn for. Errors: `bad_record` if its fence leaves no room for
/// those of the claim.
void check_room_for_fences(const LockRecord& lock, const Claim& claim);

/// The `_id` of a document, for people: the string, or what it is instead.
std::string id_of(const Document& document);

/// Whether id_of() is the `_id` itself, and no description of it.
bool has_name(const Document& document);

/// The fence of a document of `locks` that is malformed otherwise. Nothing where it has none, or
/// two, or one that no claim can follow.
inline std::optional<Fence> fence_stated_in(const Document& lock) {
  const auto* fence = field_as<Fence>(lock, "fence");
  const auto named = std::count_if(lock.begin(), lock.end(),
                                   [](const auto& field) { return field.first == "fence"; });
  const bool sound = named == 1 && fence != nullptr && *fence >= 0 && *fence < kFenceLimit;
  return sound ? std::optional(*fence) : std::nullopt;
}

/// The line of a listing for a document, by `judge`, one of the two above.
template <class Record>
Listed<Record> listed(const Document& document, Record (*judge)(const Document&)) {
  try {
    return {id_of(document), judge(document), ""};
  } catch (const Error& error) {
    return {id_of(document), std::nullopt, error.what(), has_name(document),
            fence_stated_in(document)};
  }
}

}  // namespace distlock
