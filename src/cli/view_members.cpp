#include "cli/view_members.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/table.h"
#include "cli/view_cells.h"
#include "text.h"

namespace distlock::cli {
namespace {

using Condition = MemberState::Condition;

std::string clock_text(const MemberState& member) {
  if (!member.ahead) return "-";
  const std::string by = rounded_text(std::chrono::abs(*member.ahead));
  return member.ahead->count() < 0 ? '-' + by : '+' + by;
}

std::string note_on_kept_out(std::chrono::milliseconds still) {
  if (still > still.zero())
    return "it lost its data, and counts again in " + rounded_text(still) +
           " if a process pings for so long";
  return "it lost its data, and could count again; the log of a process that pings says what keeps "
         "it out";
}

std::string note_on(const MemberState& member) {
  const bool counts = member.condition == Condition::counts;
  if (!counts && !member.problem.empty()) return member.problem;
  switch (member.condition) {
    case Condition::away:
      return member.failure ? member.failure->what() : "no answer";
    case Condition::empty:
      return "it was emptied or exchanged, and counts for nobody";
    case Condition::kept_out:
      return note_on_kept_out(member.kept_out_for.value_or(std::chrono::milliseconds{0}));
    case Condition::strange:
      return "it is of another set, or named at another place";
    case Condition::counts:
      break;
  }
  if (member.lacks == 0) return member.problem;
  return "lacks " + std::to_string(member.lacks) + (member.lacks == 1 ? " hold" : " holds") +
         " of a majority" + (member.problem.empty() ? "" : "; ") + member.problem;
}

}  // namespace

std::vector<std::size_t> carriers_of(const LockRecord& lock,
                                     const std::vector<MemberState>& members) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool carries =
        std::count(lock.members.begin(), lock.members.end(), members[i].member) > 0;
    if (carries && members[i].condition == Condition::counts) numbers.push_back(i + 1);
  }
  return numbers;
}

std::string carriers_text(const LockRecord& lock, const std::vector<MemberState>& members) {
  std::string text;
  for (const std::size_t number : carriers_of(lock, members)) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text.empty() ? "-" : text;
}

bool is_skewed(const MemberState& member) {
  constexpr std::chrono::seconds kMost{1};
  return member.ahead && std::chrono::abs(*member.ahead) > kMost;
}

std::string state_of(const MemberState& member) {
  std::string state;
  const auto add = [&](const char* word) {
    state += (state.empty() ? "" : ",") + std::string(word);
  };
  if (member.condition == Condition::away) add("away");
  if (member.condition == Condition::empty) add("empty");
  if (member.condition == Condition::kept_out) add("kept out");
  if (member.condition == Condition::strange) add("strange");
  if (member.lacks > 0) add("behind");
  if (member.condition == Condition::counts && !member.problem.empty()) add("odd");
  if (is_skewed(member)) add("skewed");
  return state.empty() ? "ok" : state;
}

void print_members_that_do_not_count(std::ostream& out, const std::vector<MemberState>& members,
                                     bool in_colour) {
  const char* before = "\n";
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].condition == Condition::counts) continue;
    out << std::exchange(before, "") << "member " << i + 1
        << " does not count: " << dressed({state_of(members[i]), Style::bad}, in_colour)
        << "; -v says more\n";
  }
}

void print_members(std::ostream& out, const std::vector<MemberState>& members, bool in_colour) {
  std::vector<Row> rows(1);
  for (const char* const heading : {"MEMBER", "STATE", "CLOCK", "STORE", "NOTE"}) {
    rows.front().push_back({heading, Style::heading});
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string state = state_of(members[i]);
    rows.push_back({{std::to_string(i + 1)},
                    {state, state == "ok" ? Style::good : Style::bad},
                    {clock_text(members[i])},
                    {escaped(members[i].description)},
                    {escaped(note_on(members[i]))}});
  }
  print_table(out, rows, in_colour);
}

}  // namespace distlock::cli
