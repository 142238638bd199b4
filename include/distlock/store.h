#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "distlock/export.h"
#include "distlock/record.h"

namespace distlock {

/// A reading of the store's clock, and which clock it was. A replica set is several clocks; two
/// readings may be compared only if `clock` is the same (R4).
struct StoreNow {
  StoreTime time;
  std::string clock;
  /// The clock cannot be stepped, so that no wall clock need be asked about it (R5).
  bool steady = false;
  /// Other clocks, whose names begin with one of these, run beside this one, any time apart from
  /// it. It cannot tell the age of what they stamped (R6). Example: containers on one SQLite file.
  std::vector<std::string> unrelated;
};

/// The answer to one read of one lock, all at one instant.
struct Inspection {
  std::optional<LockRecord> lock;  ///< Nothing: no document has this name.
  std::optional<PingRecord> ping;  ///< The holder's, if the lock is taken and it has one.
  std::optional<StoreNow> now;     ///< Always there if `lock` is.
  bool fresh = false;              ///< The read reflects every write confirmed before it began.

  /// On a mirrored store, each member's answer (Members), and `lock` is the record of most of them.
  std::vector<Inspection> members;
  Token member;             ///< In an answer of a member: that member.
  Fence fence = 0;          ///< On a mirrored store, the lock's greatest fence that a member knows.
  Fence fence_of_lost = 0;  ///< Holds that this member has lost had no greater one (M6).
  bool over = false;        ///< No majority can carry the hold of this member any more (M4).
  std::vector<Token> left_out;  ///< On a mirrored store, members with a fence of no hold (M3).
  std::string fence_in_doubt;   ///< On a mirrored store, why no claim can know its fence (M3).
};

/// The hold that a document carries: each field that is well-formed there, whatever else it says.
struct Carried {
  std::optional<Token> ts;
  std::optional<LockState> state;
};

/// How sure a read must be. A takeover is judged on a `fresh` one only (R6).
enum class Freshness { ordinary, fresh };

/// The basis of a claim (R2): no document, a free one, or exactly the hold judged dead.
struct FromAbsent {};
struct FromFree {
  /// Of the hold that it was freed from, if that is known: then a delayed claim finds nothing to
  /// claim once anybody else has (R8). The original's step 3.
  std::optional<Token> ts;
};
struct FromHold {
  Token ts;
  /// When it was taken. Set for the hold of another object: MongoDB's own lock manager gives all
  /// holds of a shard one `ts`, and may give another shard's the same.
  std::optional<StoreTime> when;
};
using ClaimBasis = std::variant<FromAbsent, FromFree, FromHold>;

/// The content of a claim, and until when it may be written.
struct Claim {
  std::string process;
  std::string who;
  std::string why;
  Token ts;
  std::chrono::milliseconds takeover_after{};
  /// The store refuses the claim when its clock is past `cutoff.time` or is not `cutoff.clock`. So
  /// a delayed request takes nothing for a caller that has long gone (R8).
  StoreNow cutoff;
  /// 0: the hold's fence is one more than the stored one. Otherwise it is this one, and the store
  /// refuses the claim if the stored one is not less (R10, M3). A hold that is claimed anew from
  /// itself, FromHold with the claim's own `ts`, may keep its fence (M9).
  Fence fence = 0;
  /// A majority of a mirrored store's members carry this very hold. So it may also have the fence
  /// that is stored in a free document: FromFree with another `ts` (M9).
  bool repairs = false;
  /// How many fences the hold gets, at least 1, for those that it is passed on to (R21): that one
  /// and the next. The last is stored. Refused if several would come to the greatest there is.
  Fence fences = 1;
};

enum class ReleaseResult {
  freed,          ///< The hold was there and is free now.
  already_free,   ///< The document carries this `ts` but was free already.
  not_ours,       ///< No document under this name carries this `ts`; of members', too few.
  freed_in_part,  ///< Some members freed it, or may have, and a majority has it no more (M2).
};

/// One line of a listing: a record, or what is wrong with the document.
template <class Record>
struct Listed {
  std::string id;
  std::optional<Record> record;
  std::string problem;  ///< Not empty exactly if there is no record.
  /// False: the document has no `_id` that can be a name, and `id` describes what it has instead.
  bool named = true;
  std::optional<Fence> fence = {};  ///< Of a malformed lock, if its field `fence` is well-formed.
};

struct Listing {
  std::vector<Listed<LockRecord>> locks;  ///< By name.
  std::vector<Listed<PingRecord>> pings;  ///< By process.
  StoreNow now;
};

struct StoredHold {
  std::string name;
  Token ts;
  bool by_majority = true;  ///< False if only a minority of a mirrored store's members carries it.
  std::vector<Token> lacking = {};  ///< Members of a mirrored store that do not carry it.
};

class Line;
class Members;

/// Where locks and pings are kept, shared by every process that competes. The one place where
/// processes interleave. Decisions are elsewhere: src/protocol/, and src/turns.h for turns.
///
/// In a correct store each write is atomic and linearizable. `when`, `ping` and `now` come from its
/// own clock, and it keeps fields that it does not know. tests/contract checks any store.
///
/// Errors: every function throws Error. `outcome_unknown` if a write may have been applied,
/// also if it left a malformed document; `bad_record` if the document that it had to judge is
/// malformed; otherwise the store is unchanged. No function repeats a write by itself. Each ends
/// within about call_limit().
///
/// Threads: all functions may be called concurrently.
class DISTLOCK_EXPORT Store {
 public:
  virtual ~Store() = default;

  /// The longest that a call may take, and the room that a claim's cutoff gives it.
  virtual std::chrono::milliseconds call_limit() const = 0;

  /// Where it keeps the locks, for the log: a connection string without its secrets.
  virtual std::string description() const { return {}; }

  /// One round trip. Throws `bad_record` if the lock's document or its holder's ping is malformed.
  virtual Inspection inspect(std::string_view name, Freshness freshness) = 0;

  /// The hold that the document carries, or nothing if there is no document, by a fresh read.
  /// Unlike inspect() it judges nothing: a malformed document is an answer. It looks at no ping.
  virtual std::optional<Carried> carried(std::string_view name) = 0;

  /// One atomic compare-and-set, on two conditions: the document is still as `basis` says, and the
  /// store's clock is the cutoff's and not past it. Then it writes the claim, stamps `when`, writes
  /// the last of the claim's fences to `fence`, and gives the new record. Otherwise it gives
  /// nothing and leaves the document as it was. So it does if the stored state or fence is
  /// malformed, or leaves no room for the claim's fences. FromAbsent past the cutoff may leave a
  /// free document behind. Errors: also `invalid_argument`, for less than one fence.
  virtual std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                          const Claim& claim) = 0;

  /// Frees the lock if its document carries `ts`, and nothing else (R3). May be repeated.
  virtual ReleaseResult release(std::string_view name, const Token& ts) = 0;

  /// Stamps the process's ping with the store's clock, durably, and gives it back. It keeps
  /// `health` with the ping, for people; a store that has no room for that leaves it out.
  virtual PingRecord ping(std::string_view process, const PingHealth& health = {}) = 0;

  /// Removes the process's ping, if there is one.
  virtual void remove_ping(std::string_view process) = 0;

  /// Removes the pings older than `age` by the store's clock whose process holds nothing (R13), and
  /// says how many. A ping by another clock must be older by one more day, and one by an
  /// `unrelated` clock stays.
  virtual std::int64_t forget_pings(std::chrono::milliseconds age) = 0;

  /// The holds of one process, in one read.
  virtual std::vector<StoredHold> holds(std::string_view process) = 0;

  /// Everything, for people. Malformed documents are listed as problems, not thrown.
  virtual Listing list() = 0;

  /// The lines of those who wait, which live as long as this store. Null: this store has none, and
  /// waiters look again and again (R15).
  virtual Line* line() { return nullptr; }

  /// A descriptor, closed on exec, that the caller closes. As long as it is open in any process,
  /// the kernel calls no holder dead that has this process's name now (R23). -1: there is no
  /// witness of it, or it is not shared with other processes.
  virtual int share_witness(std::string_view process) {
    static_cast<void>(process);
    return -1;
  }

  /// The members of a mirrored store, which live as long as it. Null: this is no mirrored store.
  virtual Members* members() { return nullptr; }
};

}  // namespace distlock
