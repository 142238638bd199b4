#include "stores/open/open_mirrored.h"

#include <algorithm>
#include <boost/thread/thread.hpp>
#include <filesystem>
#include <new>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "distlock/stores.h"
#include "failure.h"
#include "stores/mirrored/member.h"
#include "stores/mirrored/mirrored_store.h"
#include "stores/mirrored/opening_member.h"
#include "stores/mongodb/mongo_store.h"
#include "stores/sqlite/sqlite_store.h"

namespace distlock {
namespace {

using mirrored::OpeningMember;

using OpeningMembers = std::vector<std::shared_ptr<OpeningMember>>;

// So that a call of the mirrored store ends within the limit that it was given.
StoreOptions options_of_members(const StoreOptions& options) {
  const auto limit = options.call_limit / mirrored::kCallsInOne;
  // A command keeps the witness of one file alone, so that members would see it end too early.
  const bool of_a_command = options.witness == WitnessRule::command;
  return {.call_limit = std::max(limit, std::chrono::milliseconds{1}),
          .witness = of_a_command ? WitnessRule::none : options.witness,
          .opening = options.opening};
}

// A ping makes one call besides.
static_assert(2 * mirrored::kCallsAtOnce + 1 == kCallsOfMember);

std::shared_ptr<Store> open_member(const ConnectionString& member, const StoreOptions& options) {
  if (member.kind() == StoreKind::sqlite) return open_sqlite_store(member, options);
  return open_mongo_store(member, options, MongoServers::standalone);
}

// The text does not show what links and the working folder make of two paths.
void check_files(const ConnectionString& connection) {
  std::set<std::string> files;
  for (const ConnectionString& member : connection.members()) {
    if (member.kind() != StoreKind::sqlite) continue;
    std::error_code none;
    const auto place = std::filesystem::absolute(member.path(), none);
    if (none) continue;
    const auto file = std::filesystem::weakly_canonical(place, none);
    if (none || files.insert(file.string()).second) continue;
    throw Error(Errc::invalid_argument, connection.redacted() + ": " + member.redacted() +
                                            " is the file of two members: name each of them once");
  }
}

OpeningMembers members_of(const ConnectionString& connection, const StoreOptions& options) {
  OpeningMembers members;
  for (const ConnectionString& member : connection.members()) {
    members.push_back(
        std::make_shared<OpeningMember>([member, options] { return open_member(member, options); },
                                        options.call_limit, member.redacted(), host_clock()));
  }
  return members;
}

// Of the exception that is being handled; `no_memory` where there is none for its text.
Error strange_failure(const Error& no_memory) noexcept {
  try {
    return {Errc::not_applied, current_failure().what};
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}

std::optional<Error> failure_to_open(OpeningMember& member, const Error& no_memory) noexcept {
  try {
    static_cast<void>(member.opened());
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (...) {
    return strange_failure(no_memory);
  }
}

// At once, so that all that are away cost no more than one. Gives why those that failed did.
std::vector<Error> failures_to_open(const OpeningMembers& members) {
  const Error no_memory(Errc::not_applied, "no memory to open a member of a mirrored store");
  std::vector<std::optional<Error>> failures(members.size());
  const boost::this_thread::disable_interruption no_interruption;
  std::vector<boost::thread> threads;
  threads.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto open = [&, i] { failures[i] = failure_to_open(*members[i], no_memory); };
    // Where there is no thread, or no memory for one, the others that were started go on.
    try {
      threads.emplace_back(open);
    } catch (...) {
      open();
    }
  }
  for (boost::thread& thread : threads) thread.join();
  std::vector<Error> there;
  for (const auto& failure : failures) {
    if (failure) there.push_back(*failure);
  }
  return there;
}

// Errors: why too few of them could be opened. A fault that waiting does not mend is asked about
// later: here it counts as any other.
void check_opened(const ConnectionString& connection, const OpeningMembers& members,
                  const std::vector<Error>& failures) {
  if (members.size() - failures.size() >= mirrored::majority_of(members.size())) return;
  const auto faults = static_cast<std::size_t>(std::count_if(
      failures.begin(), failures.end(), [](const Error& one) { return !may_pass(one); }));
  std::string why;
  for (const Error& failure : failures) {
    const bool lasts = members.size() - faults < mirrored::majority_of(members.size());
    if (lasts && !may_pass(failure)) throw Error(failure);
    why += std::string("; ") + failure.what();
  }
  throw Error(Errc::not_applied,
              connection.redacted() + ": too few of its members can be reached" + why);
}

// Members that cannot be used are no matter where a majority of the others is a set. They found
// none, so that this call changes nothing then.
void check_does_without(const std::vector<Error>& failures, Store& store) {
  if (std::all_of(failures.begin(), failures.end(), may_pass)) return;
  static_cast<void>(store.carried(""));
}

}  // namespace

std::shared_ptr<Store> open_mirrored_store(const ConnectionString& connection,
                                           const StoreOptions& options) {
  check_files(connection);
  const OpeningMembers members = members_of(connection, options_of_members(options));
  MirrorOptions of_set;
  of_set.longest_takeover = connection.longest_takeover().value_or(of_set.longest_takeover);
  of_set.opening = options.opening;
  const bool files = connection.members().front().kind() == StoreKind::sqlite;
  auto store = mirrored::open_set({members.begin(), members.end()}, host_clock(), of_set,
                                  files ? mirrored::Twins::copies : mirrored::Twins::unknown);
  if (options.opening == OpeningRule::to_look) return store;
  const std::vector<Error> failures = failures_to_open(members);
  check_opened(connection, members, failures);
  check_does_without(failures, *store);
  for (const auto& member : members) member->tell_faults();
  return store;
}

}  // namespace distlock
