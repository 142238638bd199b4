#include "contract/differential/generator.h"

#include <array>
#include <limits>
#include <map>
#include <sstream>

#include "contract/contract.h"
#include "sim/random.h"

namespace distlock::testing {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using sim::Random;

// Few of each, so that calls meet; one that a query language could take for its own.
const std::array<std::string, 2> kNames{"jobs", "$odd.n\xC3\xA4me"};
const std::array<std::string, 3> kProcesses{"db7:1300000000:1", "db8:1300000000:2", "$process"};

// A claim and a release are most of it. The numbers are weights.
constexpr std::array<std::pair<Call, std::uint64_t>, 12> kCalls{{{Call::inspect, 3},
                                                                 {Call::claim, 8},
                                                                 {Call::release, 5},
                                                                 {Call::ping, 4},
                                                                 {Call::remove_ping, 1},
                                                                 {Call::forget_pings, 2},
                                                                 {Call::holds, 2},
                                                                 {Call::stand, 9},
                                                                 {Call::leave, 2},
                                                                 {Call::release_and_tell, 4},
                                                                 {Call::put_lock, 2},
                                                                 {Call::put_ping, 2}}};
constexpr std::uint64_t kWeights = 44;

// Five minutes about the limits of forget_pings(), so that no pause of a test matters.
constexpr std::array<std::chrono::minutes, 6> kAges{
    1h, 4 * 24h - 5min, 4 * 24h + 5min, 5 * 24h - 5min, 5 * 24h + 5min, -2h};

struct Field {
  std::string name;
  Value value;
};

// Wrong or unusual, and of types that every engine can tell apart: SQLite has neither dates nor
// ObjectIds nor two sizes of integers.
const std::vector<Field>& odd_lock_fields() {
  static const std::vector<Field> fields{{"state", std::int32_t{2}},
                                         {"state", std::int64_t{1}},
                                         {"state", 1.0},
                                         {"state", 0.0},
                                         {"state", std::int32_t{3}},
                                         {"state", std::int32_t{-1}},
                                         {"state", 0.5},
                                         {"state", "x"s},
                                         {"state", Foreign{"an array"}},
                                         {"process", Foreign{"an array"}},
                                         {"who", Foreign{"an array"}},
                                         {"why", Foreign{"an array"}},
                                         {"when", "yesterday"s},
                                         {"when", Foreign{"an array"}},
                                         {"ts", "x"s},
                                         {"ts", Foreign{"an array"}},
                                         {"fence", std::int64_t{41}},
                                         {"fence", std::int64_t{-1}},
                                         {"fence", 1.0},
                                         {"fence", "1"s},
                                         {"fence", std::numeric_limits<Fence>::max()},
                                         {"fence", std::numeric_limits<Fence>::max() - 1},
                                         {"takeover_after", std::int64_t{-1}},
                                         {"takeover_after", "x"s},
                                         {"takeover_after", std::int64_t{960000}}};
  return fields;
}

const std::vector<Field>& odd_ping_fields() {
  static const std::vector<Field> fields{{"ping", "1970"s},
                                         {"ping", Foreign{"an array"}},
                                         {"clock", Foreign{"an array"}},
                                         {"ping_successes", std::int64_t{-1}},
                                         {"waiting", "a field of others"s}};
  return fields;
}

template <class Container>
const auto& one_of(Random& random, const Container& all) {
  return all[random.below(all.size())];
}

Call some_call(Random& random) {
  std::uint64_t at = random.below(kWeights);
  for (const auto& [call, weight] : kCalls) {
    if (at < weight) return call;
    at -= weight;
  }
  return Call::inspect;
}

// Half of the documents have something odd about them.
Document with_oddity(Random& random, const Document& document, const std::vector<Field>& odd) {
  if (random.chance(0.5)) return document;
  const Field& field = one_of(random, odd);
  return random.chance(0.3) ? without(document, field.name)
                            : with(document, field.name, field.value);
}

// Beyond any token of a step.
Token ticket(Random& random) { return {{0x66, static_cast<std::uint8_t>(random.below(256))}}; }

// Of different tickets, some marked and some of these for longer than a mark stays.
std::vector<Waiter> some_line(Random& random) {
  constexpr std::array<std::chrono::seconds, 2> kMarked{-10s, -2min};
  std::map<Token, Waiter> line;
  for (auto places = random.below(4); places > 0; --places) {
    const std::string& process = one_of(random, kProcesses);
    Waiter waiter{ticket(random), process, process + ":t:1", StoreTime{-1h}, std::nullopt};
    if (random.chance(0.3)) waiter.passed_over = StoreTime{one_of(random, kMarked)};
    line.emplace(waiter.ticket, waiter);
  }
  std::vector<Waiter> places;
  for (auto& [ticket, waiter] : line) places.push_back(std::move(waiter));
  return places;
}

Document with_line(Random& random, Document lock) {
  if (random.chance(0.5)) lock = with(lock, "freed_at", StoreTime{-2h});
  const auto line = some_line(random);
  return line.empty() ? lock : with(lock, "line", line);
}

Document some_lock(Random& random, const Step& step) {
  Document lock = free_lock(step.name);
  if (random.chance(0.7)) {
    lock = with(taken_lock(step.name, step.process, step.other_ts), "when", StoreTime{-1h});
  }
  return with_oddity(random, with_line(random, lock), odd_lock_fields());
}

Document some_ping(Random& random, const Step& step) {
  Document ping = ping_document(step.process, StoreTime{-one_of(random, kAges)});
  const auto clock = random.below(3);
  if (clock > 0) ping = with(ping, "clock", clock == 1 ? kThisClock : "another clock"s);
  return with_oddity(random, ping, odd_ping_fields());
}

Token token(std::size_t number) {
  return {{0x65, static_cast<std::uint8_t>(number >> 8U), static_cast<std::uint8_t>(number)}};
}

Step some_step(Random& random, std::size_t number) {
  Step step;
  step.call = some_call(random);
  step.name = one_of(random, kNames);
  step.process = one_of(random, kProcesses);
  step.freshness = random.chance(0.5) ? Freshness::fresh : Freshness::ordinary;
  step.basis = static_cast<Basis>(random.below(4));
  step.cutoff = random.chance(0.7) ? Cutoff::ahead : static_cast<Cutoff>(1 + random.below(2));
  step.right_ts = random.chance(0.7);
  step.other_ts = token(random.below(number + 1));
  step.new_ts = token(number + 1);
  step.place = random.below(5);
  step.age = random.chance(0.7) ? 4 * 24h : 1min;
  step.health = {static_cast<std::int64_t>(number), 2, 3ms, 4ms};
  if (step.call == Call::put_lock) step.document = some_lock(random, step);
  if (step.call == Call::put_ping) step.document = some_ping(random, step);
  return step;
}

struct Shown {
  std::string operator()(const std::string& text) const { return '"' + text + '"'; }
  std::string operator()(StoreTime time) const {
    return "now" + std::to_string(time.time_since_epoch().count()) + "ms";
  }
  std::string operator()(const Token& ts) const { return to_hex(ts); }
  std::string operator()(const std::vector<Waiter>& line) const {
    return "a line of " + std::to_string(line.size());
  }
  std::string operator()(const Foreign& foreign) const { return foreign.type; }
  template <class Number>
  std::string operator()(Number number) const {
    return std::to_string(number);
  }
};

}  // namespace

std::vector<Step> steps_from(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < count; ++i) steps.push_back(some_step(random, i));
  return steps;
}

std::string described(const Step& step) {
  constexpr std::array kCallNames{"inspect",      "claim",   "release", "ping",  "remove_ping",
                                  "forget_pings", "holds",   "stand",   "leave", "release_and_tell",
                                  "put_lock",     "put_ping"};
  constexpr std::array kBasisNames{"absent", "free", "free of a hold", "hold"};
  constexpr std::array kCutoffNames{"ahead", "past", "of another clock"};
  std::ostringstream out;
  out << kCallNames[static_cast<std::size_t>(step.call)] << ' ' << step.name << " by "
      << step.process;
  if (step.call == Call::claim) {
    out << " from " << kBasisNames[static_cast<std::size_t>(step.basis)];
  }
  if (step.call == Call::claim || step.call == Call::stand) {
    out << ", cutoff " << kCutoffNames[static_cast<std::size_t>(step.cutoff)];
  }
  if (step.call == Call::stand || step.call == Call::leave) out << ", place " << step.place;
  if (step.call == Call::forget_pings) out << " age " << step.age.count() << "ms";
  out << (step.right_ts ? ", the ts stored" : ", ts " + to_hex(step.other_ts));
  for (const auto& [field, value] : step.document) {
    out << ' ' << field << '=' << std::visit(Shown{}, value);
  }
  return out.str();
}

}  // namespace distlock::testing
